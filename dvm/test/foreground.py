# SPDX-License-Identifier: BSD-3-Clause
# A shell with job control on a terminal of its own: `prun cat` is started in its background, brought to the
# foreground, stopped and continued. Usage: foreground.py PRUN. Each step waits for words on the terminal.
import os
import pty
import select
import sys
import time

LIMIT_S = 20


def until(fd, wanted):
    seen = b""
    end = time.monotonic() + LIMIT_S
    while wanted not in seen:
        if not select.select([fd], [], [], max(0, end - time.monotonic()))[0]:
            sys.exit(f"no {wanted!r} in {seen!r}")
        seen += os.read(fd, 65536)


def main():
    pid, fd = pty.fork()
    if pid == 0:
        os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])

    def type_in(text, wanted):
        os.write(fd, text)
        until(fd, wanted)

    type_in(b"stty -echo; PS1=; echo re''ady\n", b"ready")
    # The rank says what it reads in other words than were typed: the terminal's own echo is none of it.
    type_in(f"{sys.argv[1]} -n 1 sh -c 'echo st\"\"arted; sed -u s/^/rank-says-/' &\n".encode(), b"started")
    os.write(fd, b"fg\n")
    type_in(b"one\n", b"rank-says-one")
    type_in(b"\x1a", b"Stopped")
    type_in(b"fg\n", b"prun")
    type_in(b"two\n", b"rank-says-two")
    os.write(fd, b"\x04")
    type_in(b"echo code=$?\n", b"code=0")
    os.write(fd, b"exit\n")
    os.waitpid(pid, 0)


main()

/* SPDX-License-Identifier: BSD-3-Clause */
/* Marks a shared library so that it finds its own functions before those of the program: symbolic
 * FILE. A distribution may have linked it so. */
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* An entry at the end of the dynamic section is free if another one follows. */
static bool mark(char *file)
{
    const ElfW(Ehdr) *head = (const void *)file;
    const ElfW(Phdr) *part = (const void *)(file + head->e_phoff);

    for (int i = 0; i < head->e_phnum; i++) {
        ElfW(Dyn) *d = (void *)(file + part[i].p_offset);
        const ElfW(Dyn) *end = (const void *)(file + part[i].p_offset + part[i].p_filesz);

        if (part[i].p_type != PT_DYNAMIC)
            continue;
        while (d + 1 < end && d->d_tag != DT_NULL)
            d++;
        if (d + 1 >= end)
            return false;
        d->d_tag = DT_SYMBOLIC;
        return true;
    }
    return false;
}

int main(int argc, char **argv)
{
    int fd = argc == 2 ? open(argv[1], O_RDWR | O_CLOEXEC) : -1;
    struct stat st;
    char *file;

    if (fd < 0 || fstat(fd, &st) < 0)
        return 1;
    file = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return file != MAP_FAILED && mark(file) ? 0 : 1;
}

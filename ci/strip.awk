# SPDX-License-Identifier: BSD-3-Clause
# C sources without comments and with empty texts, so that a search finds code only. Include lines keep
# their names. Prints "file:line:text"; a line of a comment alone is one space or more, a blank line is empty.

# The length of the text literal that `rest` goes on with, its closing quote included; 0: it has none.
function text_length(quote, rest) {
    if (quote == "\"")
        match(rest, /^([^"\\]|\\.)*"/)
    else
        match(rest, /^([^'\\]|\\.)*'/)
    return RLENGTH > 0 ? RLENGTH : 0
}

function code_of(line,    out, at, two, len) {
    out = ""
    while (line != "") {
        if (in_comment) {
            at = index(line, "*/")
            if (!at)
                return out " "
            in_comment = 0
            line = substr(line, at + 2)
            continue
        }
        at = match(line, /["']|\/\*|\/\//)
        if (!at)
            return out line
        out = out substr(line, 1, at - 1)
        two = substr(line, at, 2)
        if (two == "//")
            return out
        if (two == "/*") {
            in_comment = 1
            out = out " "
            line = substr(line, at + 2)
            continue
        }
        out = out "\"\""
        len = text_length(substr(two, 1, 1), substr(line, at + 1))
        if (!len)
            return out
        line = substr(line, at + 1 + len)
    }
    return out
}

FNR == 1 { in_comment = 0 }

{
    if (!in_comment && $0 ~ /^[ \t]*#[ \t]*include/)
        print FILENAME ":" FNR ":" $0
    else
        print FILENAME ":" FNR ":" code_of($0)
}

# SPDX-License-Identifier: BSD-3-Clause
# Prints each mistake that the rules make in a C source: LINE<TAB>RULE<TAB>the line as it is then.
# Rules: negate a condition, shift a comparison, swap && and ||, a constant plus 1, swap true and false, drop a call.

function emit(rule, text) {
    if (text != $0)
        printf "%d\t%s\t%s\n", FNR, rule, text
}

# Each place of `from`, one at a time.
function each(rule, from, to,    at, rest, done) {
    rest = $0
    done = ""
    while ((at = index(rest, from)) > 0) {
        emit(rule, done substr(rest, 1, at - 1) to substr(rest, at + length(from)))
        done = done substr(rest, 1, at + length(from) - 1)
        rest = substr(rest, at + length(from))
    }
}

function constants(    at, rest, done, number) {
    rest = $0
    done = ""
    while (match(rest, /[^A-Za-z0-9_."'][0-9]+[^A-Za-z0-9_.x"']/)) {
        number = substr(rest, RSTART + 1, RLENGTH - 2)
        emit("constant", done substr(rest, 1, RSTART) (number + 1) substr(rest, RSTART + RLENGTH - 1))
        at = RSTART + RLENGTH - 1
        done = done substr(rest, 1, at - 1)
        rest = substr(rest, at)
    }
}

/^[^ ]/ || /^ *(\/\*|\*|\/\/)/ || /out_log|log_|err_set|err_wrap|FALL_THROUGH/ { next }
/^ +(else )?if \(.*\)( \{)?$/ {
    text = $0
    sub(/if \(/, "if (!(", text)
    sub(/\)( \{)?$/, ")&", text)
    emit("negate", text)
}
{
    each("compare", " < ", " <= ")
    each("compare", " <= ", " < ")
    each("compare", " > ", " >= ")
    each("compare", " >= ", " > ")
    each("compare", " == ", " != ")
    each("compare", " != ", " == ")
    each("logic", " && ", " || ")
    each("logic", " || ", " && ")
    each("truth", "return true;", "return false;")
    each("truth", "return false;", "return true;")
    constants()
}
/^ +(\(void\)!?)?[a-z_][a-z_0-9]*\(.*\);$/ && !/free|destroy|assert/ { emit("drop", "    (void)0;") }

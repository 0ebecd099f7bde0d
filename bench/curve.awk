# SPDX-License-Identifier: BSD-3-Clause
# Draws the repair of the tree as SVG from the JSON lines of bench/repair: time over the number of departed vpids, both
# logarithmic, at a daemon, radix 64, scattered vpids; one batch (full) and as many single repairs (dashed).
# Usage: awk -f bench/curve.awk lines >docs/repair.svg

function field(name,    v) {
    if (!match($0, "\"" name "\": [^,}]*"))
        return ""
    v = substr($0, RSTART + length(name) + 4, RLENGTH - length(name) - 4)
    gsub(/"/, "", v)
    return v
}

function log10(v) { return log(v) / log(10) }
function x_of(k) { return 70 + 95 * log10(k) }
function y_of(ms) { return 30 + 60 * (4 - log10(ms)) }

function text(x, y, anchor, s) {
    printf "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"%s\">%s</text>\n", x, y, anchor, s
}

function line(points, style, colour) {
    printf "<polyline points=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"2\" %s/>\n", points, colour, style
}

field("bench") == "repair" && field("shape") == "scattered" && field("radix") == 64 && field("at") == "daemon" {
    n = field("n")
    k = field("k")
    batch[n] = batch[n] sprintf(" %.1f,%.1f", x_of(k), y_of(field("batch_ms")))
    single[n] = single[n] sprintf(" %.1f,%.1f", x_of(k), y_of(field("batch_ms") * field("ratio")))
}

END {
    split("1000 10000 100000 1000000", sizes, " ")
    split("#7a9cc6 #2f6fb0 #b0552f #222222", colours, " ")
    print "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"720\" height=\"560\" font-family=\"sans-serif\" font-size=\"13\">"
    print "<rect width=\"720\" height=\"560\" fill=\"white\"/>"
    for (e = -4; e <= 4; e++) {
        printf "<path d=\"M70 %.0fH640\" stroke=\"#dddddd\"/>\n", y_of(10 ^ e)
        text(62, y_of(10 ^ e) + 4, "end", 10 ^ e " ms")
    }
    for (e = 0; e <= 6; e++)
        text(x_of(10 ^ e), 530, "middle", sprintf("%d", 10 ^ e))
    text(355, 550, "middle", "departed vpids")
    for (i = 1; i <= 4; i++) {
        line(batch[sizes[i]], "", colours[i])
        line(single[sizes[i]], "stroke-dasharray=\"6 4\"", colours[i])
        printf "<path d=\"M90 %dh30\" stroke=\"%s\" stroke-width=\"2\"/>\n", 40 + 18 * i, colours[i]
        text(126, 44 + 18 * i, "start", "of " sizes[i])
    }
    text(90, 44, "start", "full: one batch; dashed: one by one")
    print "</svg>"
}

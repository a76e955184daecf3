# Draw the output of kcount hist with bars: up to count 50, the rest in one line.
# Errors make k-mers seen once or twice so frequent that the scale ignores them.
BEGIN {
        last = 50
        width = 60
}
$1 > last {
        more += $2
        next
}
{
        distinct[$1] = $2
        if ($1 > 2 && $2 > top)
                top = $2
}
END {
        print "count  distinct"
        for (count = 1; count <= last; count++) {
                n = top ? int(distinct[count] * width / top + 0.5) : 0
                bar = ""
                for (i = 0; i < n && i < width; i++)
                        bar = bar "#"
                printf "%5d %9d %s%s\n", count, distinct[count], bar, (n > width ? ">>" : "")
        }
        if (more)
                printf "%5s %9d\n", ">" last, more
}

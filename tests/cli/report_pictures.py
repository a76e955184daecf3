"""
The pictures of a report and its files for MultiQC, as report_pictures writes them for made-up
reports.

    report_pictures.py REPORT_PICTURES SOURCE
"""
import csv
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

PROGRAM, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])
SVG = "{http://www.w3.org/2000/svg}"
OF_READS = {"spectrum", "spectrum-log", "ploidy", "gc"}
OF_ASSEMBLY = OF_READS | {"copies", "sequences"}
OF_TWO = OF_ASSEMBLY | {"copies-1", "copies-2", "holders"}
FILES = {"two": OF_TWO, "hostile": OF_TWO, "large": OF_TWO, "mixed": OF_TWO, "alone": OF_READS,
         "haploid": OF_READS, "tiny": OF_READS, "fitted": OF_READS, "deep": OF_READS,
         "counted": OF_ASSEMBLY - {"sequences"}}


def expect(holds, what):
    if not holds:
        sys.exit(what)


class Picture:
    def __init__(self, path):
        self.bytes = path.read_bytes()
        self.name = f"{path.parent.name}/{path.name}"
        self.root = xml.etree.ElementTree.fromstring(self.bytes)
        self.style = self.root.find(SVG + "style").text

    def all(self, tag, name=None):
        return [e for e in self.root.iter(SVG + tag)
                if name is None or name in e.get("class", "").split()]

    @staticmethod
    def tops(path):
        """The tops of the bars of a path, by their middles."""
        for bar in re.findall("M([^,]+),[^V]+V([^H]+)H([^V]+)V", path.get("d")):
            left, top, right = map(float, bar)
            yield round((left + right) / 2), top

    def path(self, name):
        return self.all("path", name)[0]

    @property
    def words(self):
        return [e.text or "" for e in self.all("text")]


def write_all(folder):
    folder.mkdir()
    subprocess.run([PROGRAM, folder], check=True)
    return {example.name: {path.stem: Picture(path) for path in example.glob("*.svg")}
            for example in sorted(folder.iterdir())}


def read_json(folder, ending):
    return {path.parent.name: json.loads(path.read_text(), parse_constant=sys.exit)
            for path in folder.glob(f"*/*{ending}") if path.name == path.parent.name + ending}


# ---- pictures ----

def test_files(examples):
    for example, pictures in examples.items():
        expect(set(pictures) == FILES.get(example, OF_ASSEMBLY), f"{example}: {sorted(pictures)}")


def test_standalone(picture):
    text = picture.bytes.decode()
    expect(picture.root.get("role") == "img", f"{picture.name}: no role")
    for part in ("title", "desc"):
        expect(picture.root.find(SVG + part).text, f"{picture.name}: no {part}")
        expect(picture.root.find(SVG + part).get("id") in picture.root.get("aria-labelledby"),
               f"{picture.name}: the {part} does not label it")
    expect(not re.search(r"<script|href|https?:|url\((?!#)|var\(",
                         re.sub("<title.*?</title>|<desc.*?</desc>|<text.*?</text>", "", text)
                         .replace(SVG[1:-1], "")), f"{picture.name}: something from elsewhere")
    expect(not re.search(r"\b(nan|inf)\b|\(null\)", text), f"{picture.name}: not a number")
    sizes = [float(size) for size in re.findall(r"font-size: ([\d.]+)px", picture.style)]
    expect(min(sizes) >= 12, f"{picture.name}: small text")


def test_looks(picture, looks):
    """Every class has a look, which is the page's."""
    used = {name for e in picture.root.iter() for name in e.get("class", "").split()}
    missing = {name for name in used - {"clip", "start"}
                   if not re.search(rf"\.{name}(?![\w-])", picture.style)}
    expect(not missing, f"{picture.name}: {missing} have no look")
    for rule in re.findall(r"[^{}\n]+{[^}]*}", picture.style):
        expect(rule.strip() in looks or ".sheet" in rule or "font-family" in rule,
               f"{picture.name}: {rule} is not the page's")


def read_looks():
    style = (SOURCE / "app/report/page/report.css").read_text()
    colours = dict(re.findall(r"(--[\w-]+): (#\w+)", style.split("}")[0]))
    colours["--paper"] = colours["--sheet"]
    style = re.sub(r"var\((--[\w-]+)\)", lambda m: colours.get(m[1], m[1]), style)
    return {rule.strip() for rule in re.findall(r"[^{}\n]+{[^}]*}", style)}


def test_inside(picture):
    """Nothing but long names is drawn beyond the edges."""
    width, height = (float(picture.root.get(key)) - 20 for key in ("width", "height"))
    for e in picture.all("line") + picture.all("rect") + picture.all("text"):
        x, y = (float(e.get(key, e.get(key + "1", 0))) for key in "xy")
        right = x + float(e.get("width", 0))
        if "sheet" not in e.get("class"):
            expect(x >= -1 and right <= width + 1 and -1 <= y <= height, f"{picture.name}: {x} {y}")


def read_scale(picture):
    """Where values are, from the words on the axis: a function from y to them, and its highest."""
    units = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9}
    levels = []
    for e in picture.all("text", "end"):
        found = re.fullmatch(r"([\d.]+) ?([kMG]?)", e.text)
        if found and e.get("x") == "53":
            levels.append((float(e.get("y")) - 4, float(found[1]) * units[found[2]]))
    (y0, v0), (y1, v1) = levels[0], levels[-1]
    if "log" in picture.name:
        return lambda y: v0 * math.exp((y - y0) / (y1 - y0) * math.log(v1 / v0))
    return lambda y: v0 + (y - y0) / (y1 - y0) * (v1 - v0)


def test_bars(picture, kmers, names):
    """The bars say the counts that MultiQC's file has."""
    value, tops = read_scale(picture), {}
    for name in names:
        for path in picture.all("path", name):
            for x, top in picture.tops(path):
                tops[x] = min(top, tops.get(x, top))
    highest = min(tops.values())
    is_log, stacked, nbars = "log" in picture.name, len(names) > 1, 0
    for (x, top), (count, n) in zip(sorted(tops.items()), sorted(kmers.items())):
        near = 0.03 * n if is_log else value(0) - value(0.3) + 0.02 * n * stacked
        if top > highest + 0.2:
            expect(abs(value(top) - n) <= near, f"{picture.name}: {value(top)}, not {n} at {count}")
            nbars += 1
    expect(nbars > 60, f"{picture.name}: only {nbars} bars were compared")


def find_word(picture, word, key):
    return [float(e.get(key)) for e in picture.all("text") if e.text == word][0]


def test_map(picture):
    """Errors, which have the genome's GC content, are darkest, and group B lies apart."""
    x, y = find_word(picture, "1", "x"), find_word(picture, "40 %", "y") - 4
    darkest = re.findall("M([^,]+),([^V]+)V([^H]+)H([^V]+)V", picture.path("heat-9").get("d"))
    expect(any(float(left) < x < float(right) and float(top) < y < float(bottom)
               for left, bottom, top, right in darkest), f"{picture.name}: {darkest}")
    box = picture.all("rect", "outline")[1]
    middle = float(box.get("x")) + float(box.get("width")) / 2
    expect(find_word(picture, "128", "x") < middle, f"{picture.name}: group B is at {middle}")


def test_strips(picture):
    """Bins 21 to 31 of 85 are double in the second sequence; the first is 1.12 times as long."""
    rects = picture.all("rect", "f-data")[1:]  # the first is of the legend
    width = float(rects[1].get("width"))
    expect(abs(float(rects[0].get("width")) / width - 1.12) < 0.01, f"{picture.name}: {width}")
    left, right = re.fullmatch("M([^,]+),[^H]+H([^V]+)V[^V]+Z",
                               picture.all("path", "f-c2")[1].get("d")).groups()
    for at, nbins in ((left, 21), (right, 32)):
        expect(abs(float(at) - 200 - width * nbins / 85) < 0.2, f"{picture.name}: double at {at}")


def test_words(examples):
    cases = {
        ("diploid", "spectrum"): ["Reads", "In one copy", "In both copies", "1n at 11.7",
                                  "2n at 23.4", "◂ mostly errors under 4",
                                  "cut off: 7.37 M at count 1"],
        ("haploid", "spectrum"): ["1n at 31.2", "In one copy"],
        ("tetraploid", "spectrum-log"): ["In some copies", "In all copies"],
        ("no-model", "spectrum"): ["Reads", "◂ mostly errors under 4"],
        ("tiny", "gc"): ["There are too few k-mers for this picture."],
        ("tiny", "ploidy"): ["reads, or they come from many genomes at once."],
        ("diploid", "ploidy"): ["Ploidy 2, chosen", "98.7 % of the k-mers explained", "Ploidy 4"],
        ("no-fit", "ploidy"): ["Ploidy 2", "71.0 % of the k-mers explained"],
        ("diploid", "gc"): ["1n", "2n", "A", "A: 48,681 k-mers with 63 % GC, read 42 times, 1.8 "
                            "times as often as the genome"],
        ("diploid", "copies"): ["Missing", "Twice", "In no read", "0"],
        ("two", "holders"): ["Neither", "maternal", "paternal", "Both", "In no read"],
        ("two", "sequences"): ["contig_02", "paternal"],
        ("diploid", "sequences"): ["contig_01", "100 kb",
                                   "A step of 4.00 kb with k-mers that no read has"],
        ("hostile", "sequences"): ["</script><img src=x onerr…", "<!--<script>",
                                   "\"' onload='alert(2)", "café \\xff\\xfe\\x1b[2J",
                                   "\\u202edesrever &amp; ]]>"],
    }
    for (example, name), words in cases.items():
        found = examples[example][name].words
        for word in words:
            expect(word in found, f"{example}/{name}: '{word}' is not among {found}")
    expect("In one copy" not in examples["no-model"]["spectrum"].words, "parts without a model")
    expect(not examples["perfect"]["copies"].all("rect", "f-only")[1:], "k-mers where there are 0")


# ---- MultiQC ----

def test_multiqc(folder):
    numbers, spectra = read_json(folder, "_mqc.json"), read_json(folder, "_spectrum_mqc.json")
    for files, key in ((numbers, "pconfig"), (spectra, "pconfig")):
        first = files["diploid"]
        for name, found in files.items():
            expect({k: v for k, v in found.items() if k != "data"} ==
                   {k: v for k, v in first.items() if k != "data"}, f"{name}: another {key}")
    with open(SOURCE / "tests/cli/expected/multiqc.tsv", newline="", encoding="utf-8") as table:
        for row in csv.DictReader(table, delimiter="\t"):
            sample = row.pop("Sample")
            wanted = {key: float(value) for key, value in row.items() if value}
            expect(numbers[sample]["data"] == {sample: wanted},
                   f"{sample}: {numbers[sample]['data']}, not {wanted}")
    expect(set(numbers["no-model"]["data"]["no-model"]) == {"qv", "completeness"}, "no model")
    expect(numbers["perfect"]["data"]["perfect"]["qv"] > 60, "the bound of a QV")
    expect("qv" not in numbers["filtered"]["data"]["filtered"], "a QV that was refused")
    name = "</script><img src=x onerror=alert(1)>"
    expect(set(numbers["hostile"]["data"]) == {name}, "the sample's name changed")


def read_kmers(folder, example):
    data = json.loads((folder / example / f"{example}_spectrum_mqc.json").read_text())["data"]
    expect(list(data[example]) == sorted(data[example]), "counts are not in order as text")
    return {float(count): kmers for count, kmers in data[example].items()}


def main():
    with tempfile.TemporaryDirectory() as scratch:
        first, second = pathlib.Path(scratch, "first"), pathlib.Path(scratch, "second")
        examples = write_all(first)
        write_all(second)
        for path in first.glob("*/*"):
            expect(path.read_bytes() == (second / path.relative_to(first)).read_bytes(),
                   f"{path}: other bytes the second time")
        test_files(examples)
        looks = read_looks()
        for pictures in examples.values():
            for picture in pictures.values():
                test_standalone(picture)
                test_looks(picture, looks)
                test_inside(picture)
        test_words(examples)
        kmers = read_kmers(first, "diploid")
        test_bars(examples["diploid"]["spectrum"], kmers, ["f-data"])
        test_bars(examples["diploid"]["spectrum-log"], kmers, ["f-data"])
        test_bars(examples["diploid"]["copies"], kmers, [f"f-c{i}" for i in range(6)])
        test_bars(examples["two"]["holders"], kmers, [f"f-a{i}" for i in range(4)])
        test_map(examples["diploid"]["gc"])
        test_strips(examples["diploid"]["sequences"])
        test_multiqc(first)
    print(f"{sum(map(len, examples.values()))} pictures")


main()

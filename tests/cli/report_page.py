"""
The page of a report, without a browser: what report_pages writes for made-up reports.

    report_page.py REPORT_PAGES SOURCE
"""
import base64
import hashlib
import html.parser
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

PROGRAM, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])
BUDGET, LIMIT = 250_000, 500_000
VOID = {"meta", "br", "input", "link", "path", "circle", "rect", "line"}

COPIES = "columns kmers beyond assembly_only classes"
QV = "assembly_only kmers value low high error"
COMPLETENESS = "threshold threshold_by solid found value low high low_threshold high_threshold " \
               "weighted first_minimum"
KEYS = {
    "": "schema sample k step depth genome_size verdict caveats spectrum model ploidy gc "
        "copy_number qv completeness holders assemblies sequences provenance",
    "verdict": "genome_size ploidy heterozygosity coverage error_rate assembly",
    "verdict.genome_size": "value low high unit total all_kmers off_profile",
    "verdict.ploidy": "value runner_up",
    "verdict.heterozygosity": "value low high",
    "verdict.coverage": "value low high reads",
    "verdict.error_rate": "value low high",
    "verdict.assembly": "qv qv_low qv_high completeness",
    "caveats.0": "name level subject panel text",
    "spectrum": "first width kmers total distinct beyond",
    "model": "ploidy length coverage bias duplication rates fit_first fit_last peak explained "
             "frequent threshold errors heterozygous homozygous repeated",
    "ploidy.0": "p tied explained bic delta_bic coverage haploid het duplication curve",
    "gc": "first kmers main_gc groups",
    "gc.groups.0": "kmers instances depth times gc from_count to_count",
    "copy_number": COPIES,
    "copy_number.classes.0": "name kmers missing once twice more",
    "qv": QV + " adjusted",
    "qv.adjusted": QV + " unseen chance",
    "completeness": COMPLETENESS,
    "completeness.first_minimum": "threshold solid found value weighted",
    "sequences.0": "name length gc qv median extra flags bins",
    "provenance": "program command reads assembly second_assembly",
    "provenance.reads": "file sha256 reads bases kmers distinct once min max removed canonical "
                        "compressed",
    "provenance.assembly": "name file sha256 counted sequences bases kmers distinct",
}
# Those that two assemblies have in addition.
KEYS_OF_TWO = {
    "holders": "columns kmers beyond assembly_only",
    "assemblies.1": "name copy_number qv completeness",
    "assemblies.1.copy_number": COPIES,
    "assemblies.1.qv": QV + " adjusted",
    "assemblies.1.completeness": COMPLETENESS,
    "sequences.0": "name assembly length gc qv median extra flags bins",
    "provenance.second_assembly": "name file sha256 counted sequences bases kmers distinct",
}


class Page(html.parser.HTMLParser):
    """The elements of a page, its text, and the text of what it has one of."""

    def __init__(self, path):
        super().__init__()
        self.bytes = path.read_bytes()
        self.open, self.tags, self.ids, self.texts = [], [], [], []
        self.inside = {}
        self.feed(self.bytes.decode())
        if self.open:
            sys.exit(f"{path.name}: {self.open} are not closed")

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.tags.append((tag, attributes))
        self.ids += [attributes["id"]] if "id" in attributes else []
        if tag not in VOID:
            self.open.append(tag)
            self.inside.setdefault(tag, []).append("")

    def handle_endtag(self, tag):
        if tag not in VOID and self.open.pop() != tag:
            sys.exit(f"</{tag}> closes something else")

    def handle_data(self, data):
        for tag in set(self.open):
            self.inside[tag][-1] += data
        if not {"script", "style"} & set(self.open):
            self.texts.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())

    @property
    def report(self):
        return json.loads(self.inside["script"][0], parse_constant=lambda word: sys.exit(word))


def expect(holds, what):
    if not holds:
        sys.exit(what)


def write_pages(folder):
    folder.mkdir()
    subprocess.run([PROGRAM, folder], check=True)
    return {path.stem: Page(path) for path in sorted(folder.iterdir())}


def reach(report, path):
    for key in filter(None, path.split(".")):
        report = report[int(key) if isinstance(report, list) else key]
    return report


# ---- each test takes all pages by name ----

def test_structure(pages):
    for name, page in pages.items():
        expect(len(page.ids) == len(set(page.ids)), f"{name}: an id occurs twice")
        for tag, attributes in page.tags:
            target = attributes.get("href", "")[1:] or attributes.get("for") or \
                attributes.get("aria-labelledby")
            expect(target is None or tag == "output" or target in page.ids,
                   f"{name}: <{tag}> refers to {target}, which does not exist")
            expect(not any(key.startswith("on") or key in ("src", "style") for key in attributes),
                   f"{name}: <{tag}> has {attributes}")
        expect(not re.search(r"https?:|//[a-z]|url\([^#]", page.bytes.decode()
                             .replace("http://www.w3.org/2000/svg", "")), f"{name}: an address")


def test_policy(pages):
    """The policy allows exactly the style and the script of the page."""
    for name, page in pages.items():
        policy = [a["content"] for tag, a in page.tags
                  if a.get("http-equiv") == "Content-Security-Policy"][0]
        for kind, text in (("style", page.inside["style"][0]),
                           ("script", page.inside["script"][1])):
            digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
            expect(f"{kind}-src 'sha256-{digest}'" in policy, f"{name}: hash of the {kind}")
        expect("default-src 'none'" in policy, f"{name}: {policy}")


def test_keys(pages):
    for name, wanted in (("diploid", KEYS), ("two", KEYS | KEYS_OF_TWO)):
        for path, keys in wanted.items():
            found = set(reach(pages[name].report, path))
            expect(found == set(keys.split()), f"{name}: the JSON has {found} in '{path}'")
    whole = set(pages["diploid"].report)
    for name, page in pages.items():
        expect(set(page.report) == whole, f"{name}: other keys than those of the whole report")
    report = pages["diploid"].report
    check_documented({c["name"] for page in pages.values() for c in page.report["caveats"]})
    check_documented(set(re.findall(r"[a-z_0-9]+", " ".join((KEYS | KEYS_OF_TWO).values()))))
    spectrum = report["spectrum"]
    expect(sum(spectrum["kmers"]) + spectrum["beyond"] == spectrum["distinct"], "distinct k-mers")
    expect(len(report["gc"]["kmers"]) == report["k"] + 1, "rows by GC content")
    for key in ("errors", "heterozygous", "homozygous", "repeated"):
        expect(len(report["model"][key]) == len(spectrum["kmers"]), f"length of {key}")


def check_documented(keys):
    """Each key is in the tables of the JSON's fields and of the caveats."""
    table = (SOURCE / "docs/dev/report-page.md").read_text().split("## JSON of a page")[1]
    missing = keys - set(re.findall(r"[a-z_0-9]+", " ".join(re.findall(r"`([^`]+)`", table))))
    expect(not missing, f"docs/dev/report-page.md does not name {missing}")


def test_two_assemblies(pages):
    """Each k-mer of the reads has a place in each table; null is what is not known."""
    report = pages["two"].report
    names = [a["name"] for a in report["assemblies"]]
    expect(report["holders"]["columns"] == ["missing", *names, "shared"], "columns of holders")
    tables = [report["holders"], report["copy_number"],
              *(a["copy_number"] for a in report["assemblies"])]
    for table in tables:
        for row, nkmers in zip(table["kmers"], report["spectrum"]["kmers"], strict=True):
            expect(nkmers <= sum(row) <= 1.2 * nkmers + 100, f"{row} for {nkmers}")
            expect(len(row) == len(table["columns"]), f"columns of {row}")
        expect(len(table["assembly_only"]) == len(table["columns"]) - 1, "assembly_only")
    expect({s["assembly"] for s in report["sequences"]} == set(names), "assemblies of sequences")
    for name in ("alone", "diploid"):
        one = pages[name].report
        expect(one["holders"] is one["assemblies"] is one["provenance"]["second_assembly"] is None,
               f"{name}: a second assembly")


def test_unknown(pages):
    """What is not known is null."""
    for name, path, unknown in (
            ("no-solid", "completeness", "value low high weighted"),
            ("no-solid", "verdict.assembly", "completeness"),
            ("no-minimum", "completeness", "low high low_threshold high_threshold"),
            ("no-minimum", "", "depth genome_size model"),
            ("counted", "provenance.assembly", "sequences bases"),
            ("counted", "", "step"),
            ("hostile", "sequences.2", "qv median extra"),
            ("filtered", "sequences.0", "qv"),
            ("filtered", "verdict.assembly", "qv qv_low qv_high"),
            ("mixed", "assemblies.1", "qv"),
            ("mixed", "provenance.second_assembly", "sequences bases"),
            ("perfect", "qv", "value high")):
        found = reach(pages[name].report, path)
        null = {key for key, value in found.items() if value is None}
        expect(null >= set(unknown.split()), f"{name}: null in '{path}' are only {null}")
    expect(pages["counted"].report["sequences"] == [], "sequences of a file of counts")
    expect(pages["mixed"].report["assemblies"][0]["qv"] is not None, "QV of the other assembly")
    by = {name: pages[name].report["completeness"]["threshold_by"]
          for name in ("diploid", "no-model", "counted", "no-minimum")}
    expect(list(by.values()) == ["model", "first minimum", "user", "none"], f"{by}")


def test_numbers(pages):
    for name, page in pages.items():
        data = page.inside["script"][0] + page.text
        expect(not re.search(r"\b(nan|inf|NaN|Infinity)\b", data), f"{name}: not a number")
        expect("-0 " not in page.text and "(null)" not in data, f"{name}: a number as C has it")


def test_hostile_names(pages):
    name = "</script><img src=x onerror=alert(1)>"
    page = pages["hostile"]
    expect(page.report["sample"] == name, "the sample's name changed")
    expect(page.report["sequences"][0]["name"] == name, "the sequence's name changed")
    rows = [text for text in page.inside["th"] if text.startswith(name * 2)]
    expect(len(rows) == 1, "the names of a sequence and its assembly are not in its row")
    expect([a["name"] for a in page.report["assemblies"]][0] == name, "the assembly's name changed")
    expect(page.inside["label"].count(name) == 1, "the assembly's name is not on its button")
    expect(page.inside["title"][0].startswith(name), "the sample's name is not in the title")
    tags = [tag for tag, _ in page.tags]
    expect(not {"img", "b onload"} & set(tags), "a name became an element")
    expect(tags.count("script") == tags.count("style") + 1 == 2, "a name became a script")
    expect(b"<" not in page.inside["script"][0].encode(), "< in the JSON")
    expect("\x1b" not in page.bytes.decode() and "\u202e" not in page.bytes.decode(),
           "a name holds what a terminal obeys")


def test_without_scripts(pages):
    """Verdict, caveats and tables are text."""
    text = pages["diploid"].text
    for what in ("A diploid genome of 3.00 Mb", "2.97 to 3.03 Mb (95 %)",
                 "One base in 200 is wrong", "Ploidy 4 is possible, too",
                 "Group A, 48,681 k-mers, has 63 % GC",
                 "43.20", "81.52 %", "contig_06", "low QV", "10.0 times"):
        expect(what in text, f"'{what}' is not in the text")
    expect(len(pages["diploid"].inside["table"]) == 6, "number of tables")
    rows = len(pages["diploid"].inside["tbody"][-1].split("contig_")) - 1
    expect(rows == 14, f"{rows} rows of sequences")


def test_cases(pages):
    """Each kind of report has its own sentences, and nothing that it cannot say."""
    cases = {
        "haploid": (["A haploid genome of"], ["heterozygous,", "Assembly"]),
        "tetraploid": (["A tetraploid genome of", "All four sets together have",
                        "what all four copies share"], ["both copies"]),
        "alone": (["A diploid genome of"], ["Copy-number", "Completeness", "QV 4"]),
        "perfect": (["no error was found", "No wrong base was found: QV above", "> 60.0",
                     "No sequence stands out", "All k-mers look like those of one genome"],
                    ["QV inf"]),
        "no-model": (["no model of a genome fits them; in the assembly, one base in 21,000",
                      "covered fewer than 8 times", "43.2"],
                     ["Ploidy 2", "95 %) One set", "Fit it yourself"]),
        "no-fit": (["do not look like those of a single genome", "No ploidy explains 90 %",
                    "All candidates are shown below, and none is preferred",
                    "of a single genome; in the assembly, one base in 21,000 is wrong"],
                   ["Chosen", "Mb haploid", "one haplotype", "Adjusted"]),
        "filtered": (["unknown", "counts under 2 left out", "There is no QV."], ["QV 43"]),
        "no-qv": (["more than five times as large", "no QV"], ["QV 43"]),
        "tiny": (["no peak that rises above", "21-mers read: 1. Distinct: 1."], ["Ploidy 2"]),
        "human": (["200 of 5,000 sequences are listed"], []),
        "two": (["in its two assemblies, one base in", "Both assemblies", "is present only once",
                 "maternal: QV 43.2; paternal: QV 43.1.", "maternal: 7 sequences, 3.03 Mb",
                 "The assemblies share 66.7 % of the solid k-mers, and both lack 1.4 %",
                 "Both together 6,051,002 6,117", "paternal 2,798,342 81.99 %",
                 "Second assembly paternal.fa.gz", "contig_06 paternal",
                 "maternal lacks 2.1 % of the sequence that all haplotypes",
                 "Both assemblies together lack 1.5 % of the sequence that only one haplotype",
                 "A haplotype has half of the heterozygous k-mers"], ["the assembly has 2,782"]),
        "mixed": (["The base quality of one assembly is not known", "There is no QV of paternal.",
                   "paternal is a file of counts, so its sequences are not known",
                   "a file of counts, without sequences: 3,021,274 k-mers",
                   "it lies above the first minimum", "maternal: QV 43.2; paternal: no QV."],
                  ["Both together 6,051,002"]),
        "counted": (["The assembly is a file of counts",
                     "Nothing is known about individual sequences",
                     "is solid, as the command sets it", "assembly: 3,029,728 k-mers"],
                    ["0 sequences", ", 0 bases", "contig_", "80.9 to 81.7 %"]),
        "no-solid": (["A k-mer with count 1,000,000 or more is solid",
                      "so nothing is known of completeness", "nothing is solid"],
                     ["All solid k-mers"]),
        "no-minimum": (["no model of a genome fits them",
                        "no minimum that separates errors from genome",
                        "all k-mers of the reads count as solid", "Merqury's: counts from 1 on"],
                       ["10 to 90 %", "Heterozygous"]),
    }
    for name, (present, absent) in cases.items():
        for words in present:
            expect(words in pages[name].text, f"{name}: '{words}' is missing")
        for words in absent:
            expect(words not in pages[name].text, f"{name}: '{words}' should not be there")


def test_size(pages):
    for name, page in pages.items():
        most = LIMIT if name == "large" else BUDGET
        expect(len(page.bytes) < most, f"{name}: {len(page.bytes)} bytes, more than {most}")


def test_same_bytes(pages, again):
    for name, page in pages.items():
        expect(page.bytes == again[name].bytes, f"{name}: other bytes the second time")


def test_fit():
    """The page's script fits as the program does: these are the program's numbers."""
    if shutil.which("node") is None:
        print("node is not installed: the fit is not tested")
        return
    compare_fits(json.loads((SOURCE / "tests/cli/expected/page_fit.json").read_text()))


def compare_fits(cases):
    script = (SOURCE / "app/report/page/fit.js").read_text() + """
        const cases = JSON.parse(require("fs").readFileSync(0));
        console.log(JSON.stringify(cases.map((c) => c.fits.map((f) =>
          fitting.fitPloidy(c.data, f.ploidy, c.first, c.last, c.peak)))));"""
    done = subprocess.run(["node", "-e", script], input=json.dumps(cases), text=True, check=True,
                          stdout=subprocess.PIPE)
    for case, fits in zip(cases, json.loads(done.stdout)):
        for wanted, fit in zip(case["fits"], fits):
            for key, value in wanted.items():
                expect(abs(fit[key] - value) <= 1e-6 * abs(value) + 1e-8,
                       f"ploidy {wanted['ploidy']}: {key} is {fit[key]}, not {value}")


def test_fit_of_few(page):
    """Fewer counts than parameters: the script gives up, and does not go on for ever."""
    report = page.report
    if shutil.which("node") is None:
        return
    peak, kmers = report["model"]["peak"], json.dumps(report["spectrum"]["kmers"])
    script = (SOURCE / "app/report/page/fit.js").read_text() + f"""
        const data = {{k: {report["k"]}, kmers: {kmers}, total: {report["spectrum"]["total"]},
                       min: 1, frequent: 0}};
        for (let p = 1; p <= 6; p++)
          if (!Number.isFinite(fitting.fitPloidy(data, p, {peak - 1}, {peak + 2}, {peak}).size))
            throw new Error("no size");"""
    subprocess.run(["node", "-"], input=script, text=True, check=True, timeout=60)


def test_fit_in_page(page):
    """The script in the page finds the report's own model again."""
    report = page.report
    if report["model"] is None or shutil.which("node") is None:
        return
    model, spectrum = report["model"], report["spectrum"]
    case = {"data": {"k": report["k"], "kmers": spectrum["kmers"], "total": spectrum["total"],
                     "min": 1, "frequent": model["frequent"]},
            "first": model["fit_first"], "last": model["fit_last"], "peak": model["peak"],
            "fits": [{"ploidy": c["p"], "size": c["haploid"], "heterozygosity": c["het"],
                      "coverage": c["coverage"], "duplication": c["duplication"],
                      "explained": c["explained"]} for c in report["ploidy"]]}
    compare_fits([case])


def main():
    with tempfile.TemporaryDirectory() as scratch:
        pages = write_pages(pathlib.Path(scratch, "first"))
        again = write_pages(pathlib.Path(scratch, "again"))
    for test in (test_structure, test_policy, test_keys, test_two_assemblies, test_unknown,
                 test_numbers, test_hostile_names, test_without_scripts, test_cases, test_size):
        test(pages)
    test_same_bytes(pages, again)
    test_fit()
    test_fit_in_page(pages["fitted"])
    test_fit_of_few(pages["fitted"])
    print(f"{len(pages)} pages")


main()

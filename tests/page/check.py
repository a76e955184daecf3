"""
Pages of reports in a browser: what is drawn, keyboard, widths, contrast, saving, printing.

    check.py REPORT_PAGES SOURCE PICTURES [--record]

Screenshots go to the folder PICTURES, and are compared with those in docs/images. With --record,
they go there: look at them, and commit them. Other fonts make other pictures.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

import devtools

PROGRAM, SOURCE, PICTURES = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
RECORDS = sys.argv[4:] == ["--record"]
WIDTHS = (360, 800, 1000, 1400)
PAPER_PAGES = 8
MOST_DIFFERENT = 0.005  # of the pixels

# The contrast of each text with what is behind it, if it is too low, and texts that are too small.
CONTRAST = """(() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const known = {};
  const plain = (c) => (known[c] ??= paint(c));
  const paint = (c) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = c;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const light = (c) => c.slice(0, 3).map((v) => v / 255)
    .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((a, v, i) => a + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (e) => {
    const layers = [];
    for (; e; e = e.parentElement) {
      const c = plain(getComputedStyle(e).backgroundColor);
      if (c[3] > 0) layers.push(c);
      if (c[3] === 1) break;
    }
    return layers.reduceRight((under, c) => under.map((v, i) => c[i] * c[3] + v * (1 - c[3])),
      [255, 255, 255]);
  };
  const found = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let seen = 0;
  for (let node; (node = walker.nextNode());) {
    const e = node.parentElement;
    if (!node.textContent.trim()) continue;
    if (e.closest("script, style, .unseen, .tip, caption, legend, details:not([open]) .scroll"))
      continue;
    const style = getComputedStyle(e);
    if (style.visibility === "hidden" || !e.getClientRects().length || e.matches(".skip")) continue;
    const isSvg = e instanceof SVGElement;
    let back = behind(isSvg ? e.closest("div, td") : e);
    if (e.matches(".badge-text"))
      back = plain(getComputedStyle(e.parentElement.querySelector(".badge")).fill);
    const a = light(plain(isSvg ? style.fill : style.color)), b = light(back);
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    seen++;
    if (contrast < 4.5 || parseFloat(style.fontSize) < 12)
      found.push(`${node.textContent.trim().slice(0, 40)}: ${contrast}, ${style.fontSize}`);
  }
  return { seen, found: [...new Set(found)] };
})()"""


def expect(holds, what):
    if not holds:
        sys.exit(what)


def look_for_messages(browser, name):
    said = browser.take("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
    expect(not said, f"{name}: the console says {json.dumps(said)[:600]}")
    asked = {r["request"]["url"] for r in browser.take("Network.requestWillBeSent")}
    expect(all(re.match(r"file:.*/[\w-]+\.html$|blob:", url) for url in asked),
           f"{name} requests {asked}")


# ---- each test takes a browser that shows the page of this name ----

def test_pictures(browser, name):
    pictures = browser.run("""[...document.querySelectorAll("svg[role=img]")].map((svg) =>
        [svg.getAttribute("aria-label"), /NaN|undefined|Infinity/.test(svg.outerHTML)])""")
    for label, broken in pictures:
        expect(label and len(label) > 10, f"{name}: a picture without a label")
        expect(not broken, f"{name}: no number in '{label}'")
    places = browser.run("document.querySelectorAll('.plot, .sequences tbody tr').length")
    expect(len(pictures) == places, f"{name}: {len(pictures)} pictures in {places} places")
    return len(pictures)


def test_widths(browser, name):
    for width in WIDTHS:
        browser.resize(width)
        found = browser.run("document.documentElement.scrollWidth")
        expect(found == width, f"{name}: at {width} pixels, the page is {found} wide")
    test_pictures(browser, name)


def test_contrast(browser, name):
    for scheme in ("light", "dark"):
        browser.prefer(scheme)
        result = browser.run(CONTRAST)
        expect(result["seen"] > 30, f"{name}: only {result['seen']} texts")
        expect(not result["found"], f"{name}, {scheme}: {result['found']}")
    browser.prefer("light")


def test_keyboard(browser, name):
    path = "document.querySelector('#spectrum-plot svg').outerHTML"
    before = browser.run(path)
    browser.run("document.getElementById('spectrum-y-linear').focus()")
    browser.press("ArrowRight")
    expect(browser.run("document.getElementById('spectrum-y-log').checked"), "no arrow")
    expect(browser.run(path) != before, f"{name}: a radio button changes nothing")
    browser.press("ArrowLeft")
    for id_ in ("spectrum-plot", "copies-plot", "holders-plot"):
        if not browser.run(f"Boolean(document.getElementById('{id_}'))"):
            continue
        browser.run(f"document.querySelector('#{id_} svg').focus()")
        said = set()
        for key in ("ArrowRight", "ArrowRight", "PageDown"):
            browser.press(key)
            said.add(browser.run("document.getElementById('live').textContent"))
        expect(len(said) == 3 or name == "tiny", f"{name}: the live region of {id_} says {said}")
        expect(all("count" in text for text in said), f"{name}: {said}")
        browser.press("Escape")
        expect(not browser.run(f"Boolean(document.querySelector('#{id_} .tip.on'))"),
               f"{name}: Escape does not hide the values")


def test_keys(browser, name):
    """Each button of a legend hides its part and shows it again."""
    for part in browser.run("[...document.querySelectorAll('button.key')].map((b) => "
                            "`[data-picture=${b.dataset.picture}][data-part=${b.dataset.part}]`)"):
        plot = re.search("data-picture=([a-z]+)", part)[1] + "-plot"
        html = (f"[...document.querySelectorAll('#{plot} path')]"
                ".map((path) => path.getAttribute('d').length).join()")
        before = browser.run(html)
        browser.run(f"document.querySelector('{part}').click()")
        hidden = browser.run(html)
        expect(browser.run(f"document.querySelector('{part}').ariaPressed") == "false", part)
        browser.run(f"document.querySelector('{part}').click()")
        expect(browser.run(html) == before, f"{name}: {part} does not come back")
        expect(hidden != before or part.endswith(("c3]", "c4]", "repeated]")),
               f"{name}: {part} hides nothing")


def test_assemblies(browser, name):
    """The radio buttons of the assemblies change pictures and an open table, and come back."""
    if not browser.run("Boolean(document.getElementById('copies-of-both'))"):
        return
    shown = """[...document.querySelectorAll("#copies-plot svg, #parts-plot svg, \
        details[data-table=copies-plot] table")].map((e) => e.outerHTML)"""
    browser.run("document.querySelector('details[data-table=copies-plot]').open = true")
    browser.settle()
    seen = [browser.run(shown)]
    browser.run("document.getElementById('copies-of-both').focus()")
    for _ in range(3):
        browser.press("ArrowRight")
        seen.append(browser.run(shown))
    expect(seen[0] == seen[3], f"{name}: both assemblies look otherwise the second time")
    for a, b in zip(seen, seen[1:]):
        expect(all(x != y for x, y in zip(a, b, strict=True)), f"{name}: the picture stays")
    browser.run("document.querySelector('details[data-table=copies-plot]').open = false")


def test_tables(browser, name):
    for key in browser.run("[...document.querySelectorAll('details[data-table]')]"
                           ".map((d) => d.dataset.table)"):
        rows = browser.run(f"""(async () => {{
            const details = document.querySelector("details[data-table={key}]");
            details.querySelector("summary").click();
            await new Promise((done) => setTimeout(done, 60));
            const rows = details.querySelectorAll("tbody tr").length;
            const cells = new Set([...details.querySelectorAll("tr")].map((r) => r.cells.length));
            const bad = /NaN|undefined/.test(details.textContent);
            details.querySelector("summary").click();
            return [rows, cells.size, bad];
        }})()""")
        expect(rows[0] > 0 and not rows[2], f"{name}: the table {key} has {rows}")
        expect(rows[1] == 1, f"{name}: rows of the table {key} have other lengths")
        if key in ("spectrum-plot", "ploidy-plot"):
            wanted = browser.run("JSON.parse(document.getElementById('report').textContent)"
                                 ".spectrum.kmers.length")
            expect(rows[0] == wanted, f"{name}: {key} has {rows[0]} rows, not {wanted}")


def test_sorting(browser, name):
    heads = browser.run("[...document.querySelectorAll('.sequences th button')]"
                        ".map((b) => b.dataset.key)")
    for column, key in enumerate(heads):
        browser.run(f"document.querySelector('.sequences [data-key={key}]').focus()")
        for direction in ("ascending", "descending"):
            browser.press("Enter")
            marks = browser.run("[...document.querySelectorAll('.sequences th')]"
                                ".map((th) => th.ariaSort)")
            expect(marks[column] == direction and marks.count(None) == len(marks) - 1,
                   f"{name}: sorting by {key} gives {marks}")
        if key in ("length", "median", "errors"):
            values = browser.run(f"""[...document.querySelectorAll(".sequences tbody tr")]
                .map((r) => r.children[{column}].textContent.replaceAll(",", ""))
                .map((text) => (text === "\u2013" ? -1 : +text))""")
            expect(values == sorted(values, reverse=True), f"{name}: {key} is not in order")
    if heads:
        browser.run("document.querySelector('.sequences [data-key=name]').click()")


def test_saving(browser, name):
    browser.run("""window.saved = []; URL.createObjectURL = (blob) => {
        saved.push(blob.text()); return "#"; }; true""")
    for kind in ("svg", "tsv"):
        browser.run(f"saved = []; document.querySelectorAll('button[data-{kind}]')"
                    ".forEach((b) => b.click())")
        texts = browser.run("Promise.all(saved)")
        expect(texts, f"{name}: nothing was saved as {kind}")
        for text in texts:
            if kind == "svg":
                expect(len(list(xml.etree.ElementTree.fromstring(text).iter())) > 3, "empty SVG")
            else:
                widths = {line.count("\t") for line in text.splitlines()}
                expect(len(widths) == 1, f"{name}: rows of a TSV have {widths} tabs")
    browser.run("location.hash = ''")


def test_theme(browser, name):
    colour = "getComputedStyle(document.body).backgroundColor"
    first = browser.run(colour)
    for _ in range(2):
        browser.run("document.getElementById('theme').click()")
    expect(browser.run(colour) != first, f"{name}: the button for the colours does nothing")
    browser.run("document.getElementById('theme').click()")


def test_fit(browser, name):
    """A slider that moves and comes back finds the report's own numbers again."""
    rows = """[...document.querySelectorAll("#refit-result tbody tr")].map((r) =>
        [...r.cells].map((c) => c.textContent))"""

    def move(by):
        return browser.run(f"""(() => {{
            const slider = document.getElementById("refit-last");
            slider.value = +slider.value + {by};
            slider.dispatchEvent(new Event("input"));
            return {rows};
        }})()""")

    moved, back = move(-40), move(40)
    expect(len(moved) == 6, f"{name}: {moved}")
    expect(any(report != yours for _, report, yours in moved), f"{name}: the slider does nothing")
    for what, report, yours in back:
        expect(report == yours, f"{name}: {what} is {yours}, not {report}")
    expect(browser.run("Boolean(document.querySelector('#spectrum-plot .l-refit'))"), "no line")
    browser.run("document.getElementById('refit-reset').click()")
    expect(not browser.run("Boolean(document.querySelector('#spectrum-plot .l-refit'))"), "reset")


def test_paper(browser, name):
    """Nothing is cut off on paper, nor in tables that scroll on a screen."""
    browser.run("dispatchEvent(new Event('beforeprint'))")
    browser.call("Emulation.setEmulatedMedia", media="print")
    browser.resize(690)
    for wide in ("document.documentElement", "...document.querySelectorAll('.scroll')"):
        cut = browser.run(f"[{wide}].filter((e) => e.scrollWidth > Math.max(1, e.clientWidth) + 1)"
                          ".map((e) => [e.scrollWidth, e.clientWidth, e.innerText.slice(0, 60)])")
        expect(not cut, f"{name}: cut off on paper: {cut}")
    browser.call("Emulation.setEmulatedMedia", media="")
    browser.run("dispatchEvent(new Event('afterprint'))")
    browser.resize(1400)
    npages = len(re.findall(rb"/Type\s*/Page\b", browser.print_pdf()))
    expect(0 < npages <= PAPER_PAGES, f"{name}: {npages} pages of paper")
    return npages


def test_without_scripts(browser, path):
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    browser.open(path)
    document = browser.call("DOM.getDocument", depth=0)["root"]["nodeId"]
    for selector, least in (("h1", 1), (".card", 6), (".caveats li", 5), ("table", 6)):
        found = browser.call("DOM.querySelectorAll", nodeId=document, selector=selector)["nodeIds"]
        expect(len(found) >= least, f"without scripts, there are {len(found)} {selector}")
        browser.call("DOM.getBoxModel", nodeId=found[0])  # fails if it is not shown
    browser.call("Emulation.setScriptExecutionDisabled", value=False)


def test_screenshots(browser, path):
    for width, scheme in ((1400, "light"), (1400, "dark"), (800, "light")):
        browser.prefer(scheme)
        browser.resize(width)
        browser.open(path)
        browser.settle()
        shot, name = browser.screenshot(), f"report-{width}-{scheme}.webp"
        kept = SOURCE / "docs/images" / name
        (kept if RECORDS else PICTURES / name).write_bytes(shot)
        different = browser.compare(shot, kept.read_bytes())
        expect(different < MOST_DIFFERENT, f"{100 * different:.2f} % of {name} is not as in docs")
    browser.prefer("light")


def main():
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch, devtools.Browser() as browser:
        subprocess.run([PROGRAM, scratch], check=True)
        pages = {path.stem: path for path in sorted(pathlib.Path(scratch).iterdir())}
        for name, path in pages.items():
            browser.resize(1400)
            browser.open(path)
            browser.settle()
            npictures = test_pictures(browser, name)
            for test in (test_widths, test_keyboard, test_keys, test_assemblies, test_tables,
                         test_sorting, test_saving, test_theme, test_contrast):
                test(browser, name)
            look_for_messages(browser, name)
            if name == "fitted" and browser.run("Boolean(document.querySelector('.refit'))"):
                test_fit(browser, name)
            if name == "two":
                test_paper(browser, name)
            if name == "diploid":
                print(f"{name}: {npictures} pictures, {test_paper(browser, name)} pages of paper")
                test_screenshots(browser, path)
                test_without_scripts(browser, path)
    print(f"{len(pages)} pages")


main()

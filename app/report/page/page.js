/* Tables, saving, sorting, colours, printing; and the start. */

/* The data of each picture: heads and rows. */
const TABLES = {
  "spectrum-plot": () => [
      ["count", "k-mers", ...(model ? ["model", ...PARTS.map((p) => p[1]), "left over"] : [])],
      numbers.map((_, i) => [nameRow(i), spectrum[i], ...(model ? listModel(i) : [])])],
  "ploidy-plot": () => [
      ["count", "k-mers", ...report.ploidy.map((c) => `ploidy ${c.p}`)],
      numbers.map((_, i) => [nameRow(i), spectrum[i], ...report.ploidy.map((c) => c.curve[i])])],
  "gc-plot": () => [
      ["count from", ...range(report.k + 1).map((j) => `${Math.round(100 * j / report.k)} % GC`)],
      report.gc.first.map((x, i) => [x, ...report.gc.kmers.map((row) => row[i])])],
  "copies-plot": () => listColumns(shownAssembly().copy_number, COPIES),
  "holders-plot": () => listColumns(report.holders, HOLDERS),
  "parts-plot": () => [
      ["part", "k-mers", "missing %", "once %", "twice %", "more %"],
      listShownParts().map(
          (p) =>
              [PART_NAMES[p.name], p.kmers,
               ...FATES.map(([key]) => percent(p[key], 2).slice(0, -2))])],
  "qv-plot": () => [
      [...SEQUENCE, "length", "k-mers", "in no read", "QV", "low", "high"],
      sequences.filter((s) => s.qv !== null)
          .map(
              (s) =>
                  [...nameSequence(s), s.length, s.qv.kmers, s.qv.assembly_only, ...listQv(s.qv)])],
  "strips": () => [
      [...SEQUENCE, "first base", "k-mers in no read", "present twice, %", "median count"],
      sequences.flatMap(
          (s) => s.bins.map((b, i) => [...nameSequence(s), i * report.step + 1, ...b]))],
};

/* Columns of k-mers by count in the reads, from those in no read to those beyond the rows. */
const listColumns = ({kmers, beyond, assembly_only}, columns) => [["count", ...columns], [
  ["0", "", ...assembly_only], ...kmers.map((row, i) => [nameRow(i), ...row]),
  [`over ${spectrum.length * together}`, ...beyond]
]];
const SEQUENCE = assemblies ? ["sequence", "assembly"] : ["sequence"];
const nameSequence = (s) => (assemblies ? [s.name, s.assembly] : [s.name]);
const listModel = (i) =>
    [fitted[i], ...PARTS.map((p) => model[p[0]][i]), spectrum[i] - fitted[i] - model.errors[i]];
const listQv = (qv) => ["value", "low", "high"].map((key) => qv[key]?.toFixed(2) ?? "");

function makeTable(heads, rows) {
  const table = document.createElement("table"), head = table.createTHead().insertRow(),
        body = table.createTBody();
  heads.forEach((text) => {
    const th = document.createElement("th");
    th.scope = "col";
    th.textContent = text;
    head.append(th);
  });
  rows.forEach((row) => {
    const tr = body.insertRow();
    row.forEach((cell) => {
      tr.insertCell().textContent = typeof cell === "number" ? whole(cell) : cell;
    });
  });
  return table;
}

function fillTable(details) {
  const box = details.querySelector(".scroll");
  if (details.open && box.firstChild === null)
    box.append(makeTable(...TABLES[details.dataset.table]()));
}

/* Another assembly is shown: its pictures, and the tables that are open. */
function changeAssembly() {
  drawCopies();
  drawFates();
  document.querySelectorAll("details[data-table=copies-plot]").forEach((details) => {
    details.querySelector(".scroll").replaceChildren();
    fillTable(details);
  });
}

function saveFile(name, type, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], {type}));
  link.download = `${report.sample}.${name}`.replace(/[^\w.-]+/g, "_");
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/* Characters that a name may have, and XML may not. */
const NOT_XML = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g;

/* A picture as a file of its own: with the style of the page, in the colours that it has now. */
function makeSvgFile(id) {
  const svg = id === "strips" ? makeStripsPicture() : byId(id).querySelector("svg").cloneNode(true);
  const theme = document.documentElement.dataset.theme;
  svg.setAttribute("xmlns", SVG);
  if (theme) svg.setAttribute("data-theme", theme);
  element(svg, "style", {}, document.querySelector("style").textContent);
  return new XMLSerializer().serializeToString(svg).replace(NOT_XML, "\ufffd");
}

function makeTsvFile(id) {
  const [heads, rows] = TABLES[id]();
  return [heads, ...rows]
             .map((row) => row.map((cell) => String(cell).replace(/[\t\r\n]/g, " ")).join("\t"))
             .join("\n") +
      "\n";
}

const THEMES = ["auto", "light", "dark"];

function nextTheme() {
  const root = document.documentElement, now = THEMES.indexOf(root.dataset.theme ?? "auto");
  const theme = THEMES[(now + 1) % THEMES.length];
  if (theme === "auto")
    delete root.dataset.theme;
  else
    root.dataset.theme = theme;
  byId("theme").textContent = theme[0].toUpperCase() + theme.slice(1);
  byId("theme").setAttribute(
      "aria-label", `Colours: ${theme === "auto" ? "as set in the system" : theme}`);
}

function drawAll() {
  drawSpectrum();
  drawCandidates();
  drawGc();
  drawCopies();
  drawFates();
  drawHolders();
  drawQuality();
  drawStrips();
}

function print(on) {
  printing = on;
  document.body.classList.toggle("printing", on);
  drawAll();
}

function listen() {
  const each = (selector, event, act) =>
      document.querySelectorAll(selector).forEach((e) => e.addEventListener(event, () => act(e)));
  each("details[data-table]", "toggle", fillTable);
  each(
      "button[data-svg]", "click",
      (b) => saveFile(`${b.dataset.svg}.svg`, "image/svg+xml", makeSvgFile(b.dataset.svg)));
  each(
      "button[data-tsv]", "click",
      (b) => saveFile(
          `${b.dataset.tsv}.tsv`, "text/tab-separated-values", makeTsvFile(b.dataset.tsv)));
  each("button[data-part]", "click", (b) => {
    b.setAttribute("aria-pressed", b.getAttribute("aria-pressed") === "true" ? "false" : "true");
    ({spectrum: drawSpectrum, copies: drawCopies, holders: drawHolders})[b.dataset.picture]();
  });
  each("input[name^=spectrum-]", "change", drawSpectrum);
  each("input[name^=copies-]", "change", drawCopies);
  each("input[name=copies-of]", "change", changeAssembly);
  each("input[name^=holders-]", "change", drawHolders);
  each("table.sequences th button", "click", sortBy);
  byId("theme").addEventListener("click", nextTheme);
  addEventListener("beforeprint", () => print(true));
  addEventListener("afterprint", () => print(false));
}

document.documentElement.classList.add("scripts");
listen();
startRefit();
let drawnWidth = 0;
new ResizeObserver(() => {
  if (document.body.clientWidth === drawnWidth) return;
  drawnWidth = document.body.clientWidth;
  drawAll();
}).observe(document.body);

/* The pictures of the reads and the genome: spectrum, ploidy candidates, GC content. */
const model = report.model, spectrum = report.spectrum.kmers;
/* A row of the spectrum is a count or, if there are too many, some neighbouring ones. Pictures
 * place rows by their numbers, from 1 on; so without neighbours, a row's number is its count. */
const together = report.spectrum.width, numbers = spectrum.map((_, i) => i + 1);
const rowAt = (count) => (count - 0.5) / together + 0.5;
const rowOf = (count) => Math.floor((count - 1) / together) + 1;
const meanCount = (i) => i * together + (together + 1) / 2;
const nameRow = (i) =>
    (together === 1 ? whole(i + 1) : `${whole(i * together + 1)} to ${whole((i + 1) * together)}`);
const fitted =
    model && numbers.map((_, i) => model.heterozygous[i] + model.homozygous[i] + model.repeated[i]);
/* What "fit it yourself" found, or null: { fit, curve } */
let refit = null;

const ofPloidy = (p) => ["", "in one copy", "in both copies"][p] ?? "in all copies";
/* The parts of the spectrum, each with its name. */
function listParts(p) {
  const parts = [["errors", "errors"], ["homozygous", ofPloidy(p)], ["repeated", "repeats"]];
  if (p > 1) parts.splice(1, 0, ["heterozygous", p === 2 ? "in one copy" : "in some copies"]);
  return parts;
}
const PARTS = model ? listParts(model.ploidy) : [];

/* The row where errors end: the model's threshold, or the first minimum. */
function findFloor() {
  if (model) return rowOf(model.threshold);
  let i = 0;
  while (i + 1 < spectrum.length && spectrum[i + 1] < spectrum[i]) i++;
  return i + 1 < spectrum.length ? i + 1 : 1;
}
const floor = findFloor();
const firstFitted = model ? rowOf(model.fit_first) : floor;

/* Marks for 1, 2, ... copies of a k-mer, over a picture by count. */
function markCopies(g, place, top, bottom, n, coverage, ploidy) {
  const room = place(rowAt(2 * coverage)) - place(rowAt(coverage));
  for (let copies = 1; copies <= ploidy && rowAt(copies * coverage) <= n; copies++) {
    const x = at(place(rowAt(copies * coverage)));
    drawLine(g.svg, x, top - 6, x, bottom, "mark");
    const mark = room > 96 ? `${copies}n at ${depth(copies * coverage)}` : `${copies}n`;
    const color = copies === ploidy ? "t-homozygous" : "t-heterozygous";
    drawText(g.svg, x, top - 12, `label middle ${color}`, mark);
  }
}

/* Mark what lies left of a row, and why. off: words about the first bar. */
function markErrors(g, place, top, bottom, row, what, count, off = "") {
  const x = at(place(row - 0.5));
  if (row <= 1 || row > numbers.length) return;
  drawLine(g.svg, x, top - 6, x, bottom, "threshold");
  drawText(
      g.svg, x + 7, top + 8, "remark-text",
      g.width < 760 ? `◂ ${what.split(" ").at(-1)}` : `◂ ${what} under ${whole(count)}`);
  if (off && g.width >= 760) drawText(g.svg, x + 7, top + 26, "remark-text", off);
}

function describeSpectrum() {
  const what = `k-mer spectrum: how many ${report.k}-mers occur once, twice and so on in the reads`;
  if (!model) return what;
  const peaks = `whose peaks are multiples of ${depth(model.coverage)}`;
  return `${what}, with a model of ploidy ${model.ploidy} ${peaks}`;
}

function drawSpectrum() {
  const log = isChecked("spectrum-y", "log"), times = isChecked("spectrum-w", "times");
  const weigh = (values) => (times ? values.map((v, i) => v * meanCount(i)) : values);
  const data = weigh(spectrum), n = spectrum.length;
  const g = makePicture("spectrum-plot", model ? 560 : 440, describeSpectrum());
  const left = 62, right = g.width - 8, top = 46;
  const end = model ? g.height - 166 : g.height - 48;
  const place = (x) => left + (x - 0.5) / n * (right - left);
  const most = biggest(data.slice(floor - 1).concat(model ? weigh(fitted).slice(floor - 1) : []));
  const scale =
      makeScale(log ? biggest(data) * 1.5 : (most || biggest(data)) * 1.12, log, top, end);
  drawScale(g, scale, left, right, times ? "k-mers × count" : "distinct k-mers");
  drawCounts(g, place, n, end, right, "count: how often a k-mer occurs in the reads");
  const clip = element(element(g.svg, "defs"), "clipPath", {id: "spectrum-clip"});
  drawRect(clip, left, top - 8, right - left, end - top + 8, "");
  const inner = element(g.svg, "g", {"clip-path": "url(#spectrum-clip)"});
  if (isShown("spectrum", "data"))
    drawPath(
        inner, "f-data",
        barPath(
            numbers, (x) => place(x - 0.42), (x) => place(x + 0.42), () => end,
            (i) => scale.place(data[i])));
  if (model) {
    drawParts(inner, place, scale, weigh, end, log);
    markCopies(g, place, top, end, n, model.coverage, model.ploidy);
  }
  const cut = !log && data[0] > most * 1.12;
  markErrors(
      g, place, top, end, floor, "mostly errors",
      model ? model.threshold : (floor - 1) * together + 1,
      cut ? `cut off: ${short(data[0])} at count ${nameRow(0)}` : "");
  if (refit) drawText(g.svg, right, 13, "axis end", "green and dashed: your fit");
  if (model) drawResidual(g, place, left, right, end + 62);
  addGuide(
      g, numbers.map(place), floor - 1, top, model ? g.height - 8 : end,
      (i) => ({
        head: `count ${nameRow(i)}`,
        rows: [
          ["k-mers", whole(spectrum[i])], ...(model ? [["model", whole(fitted[i])]] : []),
          ...PARTS.map(([key, name]) => [name, whole(model[key][i])]),
          ...(refit ? [["your fit", whole(refit.curve[i])]] : [])
        ],
      }));
}

function drawParts(inner, place, scale, weigh, end, log) {
  for (const [key] of PARTS) {
    if (!isShown("spectrum", key)) continue;
    const least = log ? 1 : biggest(weigh(fitted)) * 0.004;
    const points = weigh(model[key])
                       .map((v, i) => [i + 1, v])
                       .filter((p) => p[1] > least)
                       .map(([x, v]) => [place(x), scale.place(v)]);
    if (points.length < 2) continue;
    const area = `${polyline(points)}L${at(points.at(-1)[0])},${end}L${at(points[0][0])},${end}Z`;
    drawPath(inner, `f-${key} faint`, area);
    drawPath(inner, `line l-${key}`, polyline(points));
  }
  const from = firstFitted - 1;
  const along = (values) =>
      polyline(weigh(values).slice(from).map((v, i) => [place(from + i + 1), scale.place(v)]));
  if (isShown("spectrum", "model")) drawPath(inner, "line l-model", along(fitted));
  if (refit) drawPath(inner, "line l-refit", along(Array.from(refit.curve)));
}

/* What the model leaves over, in % of its highest value. */
function drawResidual(g, place, left, right, top) {
  const bottom = g.height - 8, peak = biggest(fitted.slice(floor - 1)) || 1;
  const shown = refit?.curve ?? fitted;
  const over = numbers.map((x, i) => (x < firstFitted ? 0 : 100 * (spectrum[i] - shown[i]) / peak));
  const most = Math.max(6, ...over.map(Math.abs)) * 1.08;
  const y = (v) => at(top + (1 - (v + most) / (2 * most)) * (bottom - top));
  drawText(
      g.svg, 0, top - 10, "axis",
      `${refit ? "your fit" : "model"}: what is left over, in % of the highest peak`);
  drawRect(g.svg, left, y(5), right - left, y(-5) - y(5), "band");
  for (const v of [5, 0, -5]) {
    drawLine(g.svg, left, y(v), right, y(v), v ? "grid" : "base");
    drawText(g.svg, left - 9, y(v) + 4, "end", v === 0 ? "0 %" : v > 0 ? "+5 %" : "−5 %");
  }
  drawPath(
      g.svg, "f-residual",
      numbers
          .map(
              (x, i) =>
                  (over[i] ? `M${at(place(x - 0.34))},${y(0)}V${y(over[i])}H${
                                 at(place(x + 0.34))}V${y(0)}Z` :
                             ""))
          .join(""));
}

/* ---- fit it yourself ---- */

const reads = report.provenance.reads;
/* Occurrences of k-mers in groups that the report leaves out of the size */
const aside = report.gc ? report.gc.groups.reduce((a, group) => a + group.instances, 0) : 0;
const fitData = {
  k: report.k,
  kmers: spectrum,
  total: report.spectrum.total,
  min: Math.max(1, reads.min),
  frequent: model && Math.max(aside, model.frequent)
};
let searchesAll = true; /* from all starts, until the slider of the start is moved */

const readFit = () => ({
  ploidy: +document.querySelector("input[name=refit-p]:checked").value,
  first: +byId("refit-first").value,
  last: +byId("refit-last").value,
  start: +byId("refit-start").value,
});

function startRefit() {
  if (byId("refit-first") === null) return;
  const limits = {
    "refit-first": [1, Math.max(2, model.peak - 1)],
    "refit-start": [1, 2 * model.peak],
    "refit-last": [model.peak + 2, Math.min(spectrum.length, 2 * model.fit_last)]
  };
  for (const id in limits) {
    byId(id).min = limits[id][0];
    byId(id).max = Math.max(...limits[id]);
    byId(id).addEventListener("input", () => {
      if (id === "refit-start") searchesAll = false;
      fitAgain();
    });
  }
  byId("refit-start").step = "any";
  document.querySelectorAll("input[name=refit-p]")
      .forEach((e) => e.addEventListener("change", fitAgain));
  byId("refit-reset").addEventListener("click", resetFit);
  resetFit();
}

function resetFit() {
  byId("refit-first").value = model.fit_first;
  byId("refit-last").value = model.fit_last;
  byId("refit-start").value = model.coverage;
  byId(`refit-p-${model.ploidy}`).checked = true;
  searchesAll = true;
  refit = null;
  showFit();
  drawSpectrum();
}

function fitAgain() {
  const asked = readFit();
  const fit = searchesAll ?
      fitting.fitPloidy(fitData, asked.ploidy, asked.first, asked.last, model.peak) :
      fitting.fitFrom(fitData, asked.ploidy, asked.first, asked.last, asked.start);
  refit = {fit, curve: fitting.curve(fitData, fit, spectrum.length)};
  showFit();
  drawSpectrum();
}

/* The rows of the comparison: name, the report's, the page's. */
function compareFits() {
  const v = report.verdict, f = refit?.fit;
  const size = v.genome_size?.value;
  return [
    ["Genome size", size, f && f.size - aside / (f.ploidy * f.coverage), bases],
    [
      "Heterozygosity", v.heterozygosity && 100 * v.heterozygosity.value,
      f && 100 * f.heterozygosity, (x) => percent(x, 3)
    ],
    ["Coverage of one copy", model.coverage, f?.coverage, (x) => x.toFixed(3)],
    [
      "Errors in the reads", v.error_rate && 100 * v.error_rate.value, f && 100 * f.errorRate,
      (x) => percent(x, 3)
    ],
    ["Occurs twice", 100 * model.duplication, f && 100 * f.duplication, (x) => percent(x, 2)],
    ["k-mers explained", 100 * model.explained, f && 100 * f.explained, (x) => percent(x, 2)],
  ].map(([name, ours, yours,
          format]) => [name, ...[ours, yours].map((x) => (Number.isFinite(x) ? format(x) : "–"))]);
}

function showFit() {
  const asked = readFit();
  byId("refit-first-value").textContent = whole(asked.first);
  byId("refit-last-value").textContent = whole(asked.last);
  byId("refit-start-value").textContent = searchesAll ? "everywhere" : asked.start.toFixed(1);
  byId("refit-result").replaceChildren(makeTable(["", "Report", "Your fit"], compareFits()));
  byId("refit-reset").disabled = refit === null;
}

/* ---- ploidy candidates ---- */

function drawCandidates() {
  if (!report.ploidy.length) return;
  const tops = report.ploidy.map((c) => biggest(c.curve.slice(floor)));
  const first = firstFitted, n = spectrum.length;
  report.ploidy.forEach((c, i) => {
    const g = makePicture(
        `ploidy-plot-${i}`, 214,
        `Model of ploidy ${c.p} over the spectrum: it explains ${
            percent(100 * c.explained)} of the k-mers`);
    const end = g.height - 74, place = (x) => (x - 0.5) / n * g.width;
    const most = biggest(tops) * 1.14, y = (v) => end - Math.min(1, v / most) * (end - 6);
    drawPath(
        g.svg, "f-data",
        barPath(
            numbers, (x) => place(x - 0.5), (x) => place(x + 0.5), () => end,
            (q) => y(spectrum[q])));
    drawLine(g.svg, 0, end, g.width, end, "base");
    drawPath(
        g.svg, "line l-model",
        polyline(numbers.slice(first - 1).map((x) => [place(x), y(c.curve[x - 1])])));
    const step = Math.ceil(26 / Math.max(1, place(rowAt(c.coverage) + 0.5)));
    for (let copies = 1; copies <= 2 * c.p && rowAt(copies * c.coverage) <= n - 1; copies++) {
      const x = at(place(rowAt(copies * c.coverage)));
      drawLine(g.svg, x, end, x, end + 5, "base");
      if (copies % step === 0 || copies === c.p)
        drawText(g.svg, x, end + 19, copies === c.p ? "middle strong" : "middle", `${copies}n`);
    }
    drawSmallResidual(g, c, place, biggest(tops), first);
  });
}

function drawSmallResidual(g, c, place, peak, first) {
  const middle = g.height - 20,
        y = (v) => at(middle - Math.max(-18, Math.min(18, 100 * v / peak / 5 * 18)));
  drawRect(g.svg, 0, middle - 18, g.width, 36, "band");
  drawPath(
      g.svg, "f-residual",
      numbers.slice(first - 1)
          .map(
              (x) => `M${at(place(x - 0.4))},${middle}V${y(spectrum[x - 1] - c.curve[x - 1])}H${
                  at(place(x + 0.4))}V${middle}Z`)
          .join(""));
  drawLine(g.svg, 0, middle, g.width, middle, "base");
}

/* ---- GC content against count ---- */

function drawGc() {
  if (!report.gc) return;
  const {first, kmers, groups} = report.gc, k = report.k;
  const g = makePicture(
      "gc-plot", 470,
      "k-mers by GC content and count; " +
          (groups.length ? `${groups.length} group${groups.length === 1 ? " lies" : "s lie"} ` :
                           "no group lies ") +
          "apart from the genome");
  const left = 56, right = g.width - 8, top = g.width > 560 ? 44 : 64, end = g.height - 48;
  let last = first.length - 1;
  while (last > 0 && kmers.every((row) => row[last] < 20)) last--;
  const from = first.map((v) => Math.max(0.8, v - 0.5));
  const to = first.map((v, i) => (first[i + 1] ?? v * 1.06) - 0.5);
  const low = Math.log2(0.8), high = Math.log2(to[last]);
  const place = (v) => left + (Math.log2(v) - low) / (high - low) * (right - left);
  const y = (j) => end - j / (k + 1) * (end - top);
  const density = kmers.map((row) => row.map((v, i) => v / Math.log2(to[i] / from[i])));
  const most = Math.log10(Math.max(1000, ...density.map(biggest)));
  const shade = (v) =>
      (v < 100 ? 0 : Math.min(9, 1 + Math.floor((Math.log10(v) - 2) / (most - 2) * 9)));
  const paths = range(10).map(() => "");
  for (let i = 0; i <= last; i++)
    for (let j = 0; j <= k;) { /* equal cells of a column become one */
      const cell = shade(density[j][i]);
      let over = j + 1;
      while (over <= k && shade(density[over][i]) === cell) over++;
      paths[cell] += `M${at(place(from[i]))},${at(y(j) + 0.3)}V${at(y(over))}H${
          at(place(to[i]) + 0.4)}V${at(y(j) + 0.3)}Z`;
      j = over;
    }
  paths.forEach((d, cell) => {
    if (cell && d) drawPath(g.svg, `heat-${cell}`, d);
  });
  drawGcAxes(g, place, y, left, right, top, end, high);
  if (model)
    [...new Set([1, model.ploidy])].forEach((n) => {
      const x = at(place(n * model.coverage));
      drawLine(g.svg, x, top - 6, x, top, "base");
      drawText(g.svg, x, top - 11, "middle strong", `${n}n`);
    });
  groups.forEach((group, i) => drawGroup(g, group, i, place, y, (end - top) / (k + 1)));
  drawHeatScale(g, most);
}

function drawGcAxes(g, place, y, left, right, top, end, high) {
  drawText(g.svg, 0, 13, "axis", "GC content");
  for (const share of [0, 0.2, 0.4, 0.6, 0.8, 1]) {
    const level = at(y(share * report.k + 0.5));
    drawLine(g.svg, left - 5, level, left, level, "base");
    drawText(g.svg, left - 9, level + 4, "end", `${Math.round(100 * share)} %`);
  }
  drawPath(g.svg, "frame", `M${left},${top}V${end}H${right}`);
  for (let v = 1; Math.log2(v) < high; v *= 2) {
    drawLine(g.svg, place(v), end, place(v), end + 5, "base");
    drawText(g.svg, place(v), end + 20, "middle", v);
  }
  drawText(
      g.svg, right, end + 39, "axis end",
      g.width > 560 ? "count in the reads; each step is a doubling" : "count in the reads");
}

function drawGroup(g, group, i, place, y, row) {
  const x1 = place(group.from_count) - 5, x2 = place(group.to_count) + 5;
  const top = y(group.gc * report.k + 0.5) - 4.6 * row, middle = (x1 + x2) / 2;
  for (const name of ["halo", "outline"])
    drawRect(g.svg, x1, top, x2 - x1, 9.2 * row, name).setAttribute("rx", 9);
  element(g.svg, "circle", {cx: at(middle), cy: at(top), r: 11, class: "badge"});
  drawText(g.svg, middle, top + 5, "middle badge-text", String.fromCharCode(65 + i));
}

/* The colours and what they stand for, at the upper right. */
function drawHeatScale(g, most) {
  const width = Math.min(216, g.width * 0.4), left = g.width - 8 - width;
  for (const c of range(9))
    drawRect(g.svg, left + c * width / 9, 2, width / 9 - 1, 9, `heat-${c + 1}`);
  drawText(g.svg, left, 25, "start", "100");
  drawText(g.svg, g.width - 8, 25, "end", `${short(+(10 ** most).toPrecision(1))} k-mers`);
}

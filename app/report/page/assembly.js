/* The pictures of assemblies: copies, parts, holders, quality, sequences. */
const sequences = report.sequences ?? [], assemblies = report.assemblies;
const COPIES = ["missing", "once", "twice", "3 times", "4 times", "more often"];
const HOLDERS =
    assemblies ? ["neither", ...assemblies.map((a) => `only ${shorten(a.name)}`), "both"] : [];

/* Of two assemblies, the one whose copies are shown; both together are the report's own. */
function shownAssembly() {
  const of = document.querySelector("input[name=copies-of]:checked")?.value ?? "both";
  return of === "both" ? report : assemblies[of];
}

/* The row from which on k-mers are solid, so that an assembly should have them. */
const solid = report.completeness ? rowOf(report.completeness.threshold) : floor;

/* ---- the spectrum, coloured by what the assemblies have ---- */

/* Columns of k-mers: the first is of those that no assembly has. color: of the style's names. */
function drawColumns({id, label, rows, only, columns, color}) {
  const n = rows.length, log = isChecked(`${id}-y`, "log");
  const shown = range(columns.length).filter((c) => isShown(id, `${color}${c}`));
  const g = makePicture(`${id}-plot`, 450, label);
  const left = 62, right = g.width - 8, top = 46, end = g.height - 48, start = left + 30;
  const place = (x) => start + (x - 0.5) / n * (right - start);
  const sums = rows.map((row) => shown.reduce((a, c) => a + row[c], 0));
  const most = biggest(sums.slice(floor)) || biggest(sums) || 1;
  const scale = makeScale(log ? Math.max(10, biggest(sums) * 1.5) : most * 1.12, log, top, end);
  drawScale(g, scale, left, right, "distinct k-mers");
  drawCounts(g, place, n, end, right, "count: how often a k-mer occurs in the reads");
  drawOnly(g, left, end, scale, only);
  const layers = shown.map((c) => ({c, name: `${color}${c}`}));
  if (isChecked(`${id}-kind`, "stacked"))
    drawStack(g, rows, layers, place, scale);
  else
    drawColumnLines(g, rows, layers, place, scale, end, log ? 1 : most * 0.003);
  if (report.completeness.threshold > 1)
    markErrors(
        g, place, top, end, solid,
        report.completeness.threshold_by === "user" ? "not solid" : "mostly errors",
        report.completeness.threshold);
  if (model) markCopies(g, place, top, end, n, model.coverage, model.ploidy);
  addGuide(
      g, [left + 14.5, ...numbers.map(place)], Math.min(floor, n), top, end,
      (i) => ({
        head: i === 0 ? "count 0: in no read" : `count ${nameRow(i - 1)}`,
        rows: i === 0 ? only.map((v, c) => [columns[c + 1], whole(v)]) :
                        columns.map((name, c) => [name, whole(rows[i - 1][c])])
      }));
}

/* k-mers that no read has: a bar at count 0. */
function drawOnly(g, left, end, scale, only) {
  const sum = only.reduce((a, v) => a + v, 0), top = Math.min(end - 1.5, scale.place(sum));
  if (sum > 0) drawRect(g.svg, left + 8, top, 13, end - top, "f-only");
  drawText(g.svg, left + 14.5, end + 20, "middle", "0");
}

function drawStack(g, rows, layers, place, scale) {
  const below = new Float64Array(rows.length), light = Math.min(solid - 1, rows.length);
  for (const {c, name} of layers) {
    const bottom = below.map((v) => scale.place(v)),
          tops = below.map((v, i) => scale.place(v + rows[i][c]));
    const draw = (from, to, style) => drawPath(
        g.svg, style,
        barPath(
            numbers.slice(from, to), (x) => place(x - 0.44), (x) => place(x + 0.44),
            (i) => bottom[from + i], (i) => tops[from + i]));
    if (c === 0) { /* errors are missing, too, as they should be */
      draw(0, light, `f-${name} light`);
      draw(light, rows.length, `f-${name}`);
    } else
      draw(0, rows.length, `f-${name}`);
    rows.forEach((row, i) => {
      below[i] += row[c];
    });
  }
}

function drawColumnLines(g, rows, layers, place, scale, end, least) {
  for (const {c, name} of layers) {
    const runs = [];
    rows.forEach((row, i) => {
      if (row[c] <= least) return;
      if (runs.at(-1)?.last !== i - 1) runs.push({points: []});
      runs.at(-1).points.push([place(i + 1), Math.max(-20, scale.place(row[c]))]);
      runs.at(-1).last = i;
    });
    const parts = runs.map((run) => run.points);
    drawPath(
        g.svg, `f-${name} faint`,
        parts.map((p) => `${polyline(p)}L${at(p.at(-1)[0])},${end}L${at(p[0][0])},${end}Z`)
            .join(""));
    drawPath(g.svg, `line l-${name}`, parts.map(polyline).join(""));
  }
}

function drawCopies() {
  if (byId("copies-plot") === null) return;
  const shown = shownAssembly(), {kmers, assembly_only} = shown.copy_number;
  const who = shown !== report ? shown.name : assemblies ? "both assemblies" : "the assembly";
  drawColumns({
    id: "copies",
    label: `Spectrum of the reads, by the copies of each k-mer in ${who}`,
    rows: kmers,
    only: assembly_only,
    columns: COPIES,
    color: "c"
  });
}

function drawHolders() {
  if (byId("holders-plot") === null) return;
  drawColumns({
    id: "holders",
    label: "Spectrum of the reads, by which of the assemblies has each k-mer",
    rows: report.holders.kmers,
    only: report.holders.assembly_only,
    columns: HOLDERS,
    color: "a"
  });
}

/* ---- parts of the genome ---- */

const PART_NAMES = {
  heterozygous: "Heterozygous",
  homozygous: model?.ploidy === 1 ? "Single-copy" : "Homozygous",
  repeated: "Repeated"
};
const FATES = [["missing", "c0"], ["once", "c1"], ["twice", "c2"], ["more", "c3"]];

const listShownParts = () => shownAssembly().copy_number.classes.filter(
    (p) => p.name !== "heterozygous" || model.ploidy > 1);

function drawFates() {
  if (byId("parts-plot") === null) return;
  const parts = listShownParts();
  const g = makePicture(
      "parts-plot", 58 * parts.length - 8,
      parts
          .map(
              (p) => `${PART_NAMES[p.name]}: ${
                  FATES.map(([key]) => `${percent(p[key])} ${key}`).join(", ")}`)
          .join(". "));
  parts.forEach((p, i) => {
    const top = 58 * i;
    drawText(g.svg, 0, top + 14, "axis", PART_NAMES[p.name]);
    drawText(g.svg, g.width, top + 14, "end", `${whole(p.kmers)} k-mers`);
    let x = 0;
    for (const [key, color] of FATES) {
      const width = p[key] / 100 * g.width;
      if (width > 0.3) drawRect(g.svg, x, top + 22, Math.max(1, width - 1.5), 22, `f-${color}`);
      x += width;
    }
  });
}

/* ---- quality of each sequence ---- */

function drawQuality() {
  if (byId("qv-plot") === null) return;
  const known = sequences.filter((s) => s.qv !== null);
  const from =
      known.length ? `, from ${Math.min(...known.map((s) => s.qv.low)).toFixed(0)} up` : "";
  const g = makePicture("qv-plot", 320, `QV of ${known.length} sequences by their length${from}`);
  if (!known.length) return;
  const left = 48, right = g.width - 8, top = 34, end = g.height - 48;
  const all = report.qv && (report.qv.value ?? report.qv.low);
  const ends =
      known.flatMap((s) => [s.qv.low, s.qv.value ?? s.qv.low, limitQv(s.qv)]).concat(all ?? []);
  const low = Math.floor(Math.min(...ends) / 5) * 5,
        high = Math.max(low + 10, Math.ceil(Math.max(...ends) / 5) * 5);
  const y = (v) => at(end - (v - low) / (high - low) * (end - top));
  const lengths = known.map((s) => Math.log10(s.length));
  const shortest = Math.min(...lengths) - 0.06, longest = Math.max(...lengths) + 0.06;
  const place = (s) =>
      at(left + 12 + (Math.log10(s) - shortest) / (longest - shortest) * (right - left - 24));
  drawText(g.svg, 0, 13, "axis", "QV");
  for (let v = low; v <= high; v += high - low > 30 ? 10 : 5) {
    drawLine(g.svg, left, y(v), right, y(v), v === low ? "base" : "grid");
    drawText(g.svg, left - 9, y(v) + 4, "end", v);
  }
  const digits = longest - shortest > 1.5 ? [1, 2, 5] :
      g.width > 560                       ? [1, 1.5, 2, 2.5, 3, 4, 5, 7] :
                                            [1, 2, 4];
  digits.flatMap((m) => range(10).map((p) => m * 10 ** p))
      .filter((v) => Math.log10(v) > shortest && Math.log10(v) < longest)
      .forEach((v) => {
        drawLine(g.svg, place(v), end, place(v), end + 5, "base");
        drawText(g.svg, place(v), end + 20, "middle", roundBases(v));
      });
  drawText(g.svg, right, end + 39, "axis end", "length of the sequence");
  if (all !== null) {
    drawLine(g.svg, left, y(all), right, y(all), "threshold");
    drawText(
        g.svg, right, 13, "axis end",
        `dashed: ${assemblies ? "both assemblies" : "the whole assembly"}, ${
            report.qv.value === null ? "> " : ""}${all.toFixed(1)}`);
  }
  for (const s of known) drawSequenceQv(g, s, place(s.length), y, top);
  const ordered = known.slice().sort((a, b) => a.length - b.length);
  addGuide(
      g, ordered.map((s) => place(s.length)), 0, top, end,
      (i) => ({
        head: ordered[i].name,
        rows: [
          ...(assemblies ? [["assembly", ordered[i].assembly]] : []),
          ["length", whole(ordered[i].length)], ["QV", showQv(ordered[i].qv)],
          ["k-mers in no read", whole(ordered[i].qv.assembly_only)]
        ]
      }));
}

/* Few k-mers that no read has hardly say how high a QV may be (figure_qv_interval). */
const MOST_QV = 99;
const highQv = (qv) => qv.high ?? (qv.value === null ? qv.low : MOST_QV);
const limitQv = (qv) => Math.max(qv.value ?? qv.low, Math.min(highQv(qv), MOST_QV));

function showQv(qv) {
  if (qv.value === null) return `> ${qv.low.toFixed(1)}`;
  const up = qv.high === null || qv.high > MOST_QV ? "or more" : `to ${qv.high.toFixed(1)}`;
  return `${qv.value.toFixed(1)} (${qv.low.toFixed(1)} ${up})`;
}

/* A point with its interval, or a square in the second assembly; without errors, an arrow up from
 * the bound. */
function drawSequenceQv(g, s, x, y, top) {
  const second = assemblies && s.assembly === assemblies[1].name;
  const style = (second ? " second" : "") + (s.flags.includes("low QV") ? " flagged" : "");
  if (s.qv.value === null) {
    const from = y(s.qv.low), to = Math.max(top, from - 26);
    const head = `M${x - 4},${to + 6}L${x},${to}L${x + 4},${to + 6}`;
    drawPath(g.svg, `whisker${style}`, `M${x},${from}V${to}${head}M${x - 4},${from}H${x + 4}`);
    return;
  }
  drawLine(g.svg, x, y(s.qv.low), x, y(limitQv(s.qv)), `whisker${style}`);
  if (second)
    drawRect(g.svg, x - 4, y(s.qv.value) - 4, 8, 8, `point${style}`);
  else
    element(g.svg, "circle", {cx: x, cy: y(s.qv.value), r: 4.5, class: `point${style}`});
}

/* ---- strips ---- */

function drawStrip(parent, s, width, y) {
  const step = width / Math.max(1, s.bins.length), full = report.depth ?? 0;
  const spans = (test) => {
    let path = "";
    for (let a = 0; a < s.bins.length; a++) {
      if (!test(s.bins[a])) continue;
      let b = a;
      while (b + 1 < s.bins.length && test(s.bins[b + 1])) b++;
      path += `M${at(a * step)},${y}V${y + 7}H${at(Math.max((b + 1) * step, a * step + 2))}V${y}Z`;
      a = b;
    }
    return path;
  };
  drawRect(parent, 0, y, width, 7, "f-data");
  const isGap = (b) => b[0] == 0 && b[2] == 0;
  const isOther = (b) => !isGap(b) && (b[2] > 1.5 * full || b[2] < 0.33 * full);
  if (full) drawPath(parent, "f-repeated", spans(isOther));
  drawPath(parent, "f-c2", spans((b) => b[1] > 50));
  drawPath(
      parent, "tick",
      s.bins
          .map(
              (b, i) =>
                  (b[0] ? `M${at((i + 0.5) * step)},${y - 1}v${- Math.min(14, 3 + b[0] / 9)}` : ""))
          .join(""));
}

const stripWidth = (s, room) =>
    Math.max(6, s.length / biggest(sequences.map((q) => q.length)) * room);

/* The table has a row for each sequence, which sorting moves. */
const sequenceRows = [...document.querySelectorAll("table.sequences tbody tr")];

/* All are as wide as the first cell: asking each one would lay the table out each time. */
function drawStrips() {
  const cells = sequenceRows.map((row) => row.children[row.children.length - 2]);
  const padding = printing ? 10 : 24, width = Math.max(80, (cells[0]?.clientWidth ?? 0) - padding);
  sequences.forEach((s, i) => {
    const absent = s.qv ? `, ${whole(s.qv.assembly_only)} k-mers that no read has` : "";
    const twice = s.extra === null ? ", no k-mers" : `, ${percent(s.extra)} present twice`;
    const label = `Strip of ${s.name}${absent}${twice}`;
    const g = makePictureIn(cells[i], width, 28, label);
    drawStrip(g.svg, s, stripWidth(s, width - 2), 18);
  });
}

/* A bound of the QV comes after all values; what is not known comes before. */
const SORTING = {
  name: (s, i) => i,
  length: (s) => s.length,
  gc: (s) => s.gc ?? -1,
  median: (s) => s.median ?? -1,
  errors: (s) => s.qv?.assembly_only ?? -1,
  qv: (s) => (s.qv === null ? -1 : s.qv.value ?? 1000 + s.qv.low),
  extra: (s) => s.extra ?? -1,
};

function sortBy(button) {
  const th = button.closest("th"), ascending = th.getAttribute("aria-sort") !== "ascending";
  th.parentNode.querySelectorAll("[aria-sort]")
      .forEach((other) => other.removeAttribute("aria-sort"));
  th.setAttribute("aria-sort", ascending ? "ascending" : "descending");
  const value = (i) => SORTING[button.dataset.key](sequences[i], i);
  const order =
      range(sequences.length).sort((i, j) => (value(i) - value(j)) * (ascending ? 1 : -1));
  th.closest("table").tBodies[0].append(...order.map((i) => sequenceRows[i]));
}

/* All strips as one picture, to be saved. */
function makeStripsPicture() {
  const svg = document.createElementNS(SVG, "svg"), height = 30 * sequences.length + 10;
  svg.setAttribute("width", 1000);
  svg.setAttribute("height", height);
  svg.setAttribute("viewBox", `0 0 1000 ${height}`);
  sequences.forEach((s, i) => {
    drawText(svg, 190, 30 * i + 27, "end", shorten(s.name));
    drawStrip(
        element(svg, "g", {transform: `translate(200 ${30 * i})`}), s, stripWidth(s, 790), 20);
  });
  return svg;
}

/* What all pictures have in common: SVG, axes, numbers, and a guide for pointer and keyboard. */
const report = JSON.parse(document.getElementById("report").textContent);
const SVG = "http://www.w3.org/2000/svg";
const byId = (id) => document.getElementById(id);
const whole = (v) => Math.round(v).toLocaleString("en-US");
const depth = (v) => (v < 99.95 ? v.toFixed(1) : whole(v));
const percent = (v, digits = 1) => `${v.toFixed(digits)} %`;
const biggest = (values) => values.reduce((a, v) => Math.max(a, v), 0);
const range = (n) => Array.from({length: n}, (_, i) => i);
const at = (v) => +v.toFixed(1); /* a tenth of a pixel */

/* A name, shortened to fit in a picture. */
const shorten = (name) => (name.length > 26 ? `${name.slice(0, 25)}…` : name);

function short(v) {
  const unit = [[1e9, " G"], [1e6, " M"], [1e3, " k"]].find((u) => v >= u[0]) ?? [1, ""];
  return +(v / unit[0]).toPrecision(3) + unit[1];
}

const baseUnit =
    (v) => [[1e9, "Gb"], [1e6, "Mb"], [1e3, "kb"]].find((u) => v >= 0.9995 * u[0]) ?? [1, "bp"];

function bases(v) {
  const unit = baseUnit(v);
  return `${(v / unit[0]).toPrecision(3)} ${unit[1]}`;
}

function roundBases(v) {
  const unit = baseUnit(v);
  return `${+ (v / unit[0]).toPrecision(3)} ${unit[1]}`;
}

function element(parent, tag, attributes = {}, text) {
  const e = document.createElementNS(SVG, tag);
  for (const name in attributes) e.setAttribute(name, attributes[name]);
  if (text !== undefined) e.textContent = text;
  parent.append(e);
  return e;
}

const drawLine = (parent, x1, y1, x2, y2, name) =>
    element(parent, "line", {x1: at(x1), y1: at(y1), x2: at(x2), y2: at(y2), class: name});
const drawRect = (parent, x, y, width, height, name) => element(
    parent, "rect", {x: at(x), y: at(y), width: at(width), height: at(height), class: name});
const drawPath = (parent, name, d) => element(parent, "path", {d, class: name});
const drawText = (parent, x, y, name, words) =>
    element(parent, "text", {x: at(x), y: at(y), class: name}, words);

let printing = false;

/* A new picture in place of the one that was there, as wide as its box. */
const makePicture = (id, height, label) =>
    makePictureIn(byId(id), Math.max(160, byId(id).clientWidth), height, label);

function makePictureIn(box, width, height, label) {
  box.querySelector("svg")?.remove();
  const h = printing && height > 200 ? height * 0.62 : height; /* these draw to their height */
  const svg = document.createElementNS(SVG, "svg");
  const attributes =
      {width, height: h, viewBox: `0 0 ${width} ${h}`, role: "img", "aria-label": label};
  for (const name in attributes) svg.setAttribute(name, attributes[name]);
  box.prepend(svg);
  return {box, svg, width, height: h};
}

const polyline = (points) => "M" + points.map((p) => `${at(p[0])},${at(p[1])}`).join("L");

/* Bars from their bottoms to their tops, as one path; left and right: of the bar of a count. */
function barPath(counts, left, right, bottom, top) {
  let path = "";
  counts.forEach((x, i) => {
    if (bottom(i) - top(i) > 0.05)
      path += `M${at(left(x))},${at(bottom(i))}V${at(top(i))}H${at(right(x))}V${at(bottom(i))}Z`;
  });
  return path;
}

/* Round numbers from 0 to most, about n of them; whole ones. */
function roundTicks(most, n) {
  const raw = Math.max(1, most / n), power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].find((m) => m * power >= raw * 0.999) * power;
  return range(Math.floor(most / step + 1e-9) + 1).map((i) => i * step);
}

const powersOfTen = (low, high) =>
    range(13).map((i) => 10 ** i).filter((v) => v >= low && v <= high);

/* The vertical scale of counts of k-mers: its function, ticks and smallest value. */
function makeScale(high, log, top, bottom) {
  const low = log ? 1 : 0;
  const reach = log ? Math.log(high) : high;
  const place = (v) => bottom -
      Math.max(0, Math.min(1.04, (log ? Math.log(Math.max(v, 1)) : v) / reach)) * (bottom - top);
  return {place, low, ticks: log ? powersOfTen(1, high) : roundTicks(high, 5)};
}

function drawScale(g, scale, left, right, label) {
  scale.ticks.forEach((v, i) => {
    const y = at(scale.place(v));
    drawLine(g.svg, left, y, right, y, i ? "grid" : "base");
    drawText(g.svg, left - 9, y + 4, "end", short(v));
  });
  drawText(g.svg, 0, 13, "axis", label);
}

/* The axis of the counts; n rows. */
function drawCounts(g, place, n, bottom, right, label) {
  roundTicks(n * together, g.width > 700 ? 9 : 5)
      .filter((v) => v > 0 && v % 1 === 0)
      .forEach((v) => {
        const x = place(rowAt(v));
        drawLine(g.svg, x, bottom, x, bottom + 5, "base");
        drawText(g.svg, x, bottom + 20, "middle", whole(v));
      });
  drawText(g.svg, right, bottom + 39, "axis end", label);
}

/* ---- the guide: values under the pointer, or under the arrow keys ---- */

/* values(i): the head and rows [name, value] of place i, at x = places[i]. */
function addGuide(g, places, start, top, bottom, values) {
  const rule = element(g.svg, "line", {y1: top, y2: bottom, class: "rule"});
  let tip = g.box.querySelector(".tip"), now = -1;
  if (tip === null) {
    tip = document.createElement("div");
    tip.className = "tip";
    g.box.append(tip);
  }
  const show = (i) => {
    now = Math.max(0, Math.min(places.length - 1, i));
    const {head, rows} = values(now), x = places[now];
    fillTip(tip, head, rows);
    rule.setAttribute("x1", at(x));
    rule.setAttribute("x2", at(x));
    rule.classList.add("on");
    tip.classList.add("on");
    const before = x + 16 + tip.offsetWidth > g.width;
    tip.style.left = `${Math.max(0, before ? x - 16 - tip.offsetWidth : x + 16)}px`;
    tip.style.top = `${top + 8}px`;
    return [head, ...rows.map((r) => r.join(" "))].join(", ");
  };
  const hide = () => {
    rule.classList.remove("on");
    tip.classList.remove("on");
  };
  const nearest = (event) => {
    const box = g.svg.getBoundingClientRect(), x = (event.clientX - box.left) * g.width / box.width;
    return places.reduce(
        (best, p, i) => (Math.abs(p - x) < Math.abs(places[best] - x) ? i : best), 0);
  };
  g.svg.setAttribute("tabindex", "0");
  g.svg.setAttribute("aria-keyshortcuts", "ArrowLeft ArrowRight PageUp PageDown Escape");
  g.svg.addEventListener("pointermove", (event) => show(nearest(event)));
  g.svg.addEventListener("pointerleave", hide);
  g.svg.addEventListener("blur", hide);
  g.svg.addEventListener("keydown", (event) => {
    const by = {ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10}[event.key];
    if (event.key === "Escape") hide();
    if (by === undefined) return;
    event.preventDefault();
    byId("live").textContent = show(now < 0 ? start : now + by);
  });
}

function fillTip(tip, head, rows) {
  const title = document.createElement("b"), table = document.createElement("table");
  title.textContent = head;
  rows.forEach((row) => {
    const tr = table.insertRow();
    row.forEach((cell) => {
      tr.insertCell().textContent = cell;
    });
  });
  tip.replaceChildren(title, table);
}

const isChecked = (name, value) =>
    document.querySelector(`input[name=${name}]:checked`)?.value === value;

/* Whether the part of a picture is shown (html_key). */
const isShown = (picture, part) =>
    document.querySelector(`button[data-picture=${picture}][data-part=${part}]`)
        ?.getAttribute("aria-pressed") !== "false";

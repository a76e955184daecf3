/*
 * The model of a genome, fitted as the program fits it (app/model): the same model, starts, bounds
 * and method, MINPACK's Levenberg-Marquardt. Nothing here touches the page.
 */
const fitting = (() => {
  /* The patterns of equal haplotypes at a position, each after all that it refines. */
  const PATTERNS = [
    ["A"],
    ["AA", "AB"],
    ["AAA", "AAB", "ABC"],
    ["AAAA", "AAAB", "AABB", "AABC", "ABCD"],
    ["AAAAA", "AAAAB", "AAABB", "AAABC", "AABBC", "AABCD", "ABCDE"],
    [
      "AAAAAA", "AAAAAB", "AAAABB", "AAABBB", "AAAABC", "AAABBC", "AABBCC", "AAABCD", "AABBCD",
      "AABCDE", "ABCDEF"
    ],
  ];
  const count = (pattern, letter) => [...pattern].filter((c) => c === letter).length;
  const zeros = (n) => new Float64Array(n);
  const sum = (values) => values.reduce((a, v) => a + v, 0);
  const norm = (values) => Math.sqrt(values.reduce((a, v) => a + v * v, 0));

  function refines(fine, coarse) {
    for (let i = 0; i < fine.length; i++)
      for (let j = 0; j < i; j++)
        if (fine[i] === fine[j] && coarse[i] !== coarse[j]) return false;
    return true;
  }

  function makeAlleles(ploidy) {
    const patterns = PATTERNS[ploidy - 1];
    return {
      ploidy,
      ncopies: 2 * ploidy,
      nrates: patterns.length - 1,
      refines: patterns.map((p) => patterns.map((q) => refines(p, q))),
      first: patterns.map((p) => count(p, "A")),
      others: patterns.map((p) => [..."BCDEF"].map((c) => count(p, c)).filter((n) => n > 0)),
    };
  }

  /* The share of k-mers with each pattern, and its derivatives by each rate. */
  function findPatterns(a, k, rates) {
    const share = zeros(a.nrates + 1), slopes = Array.from(share, () => zeros(a.nrates));
    for (let p = 0; p <= a.nrates; p++) {
      let base = 1;
      for (let r = 0; r < a.nrates; r++) base -= a.refines[p][r + 1] ? 0 : rates[r];
      share[p] = base ** k;
      for (let r = 0; r < a.nrates; r++)
        slopes[p][r] = a.refines[p][r + 1] ? 0 : -k * base ** (k - 1);
      for (let coarse = 0; coarse < p; coarse++) {
        if (!a.refines[p][coarse]) continue;
        share[p] -= share[coarse];
        for (let r = 0; r < a.nrates; r++) slopes[p][r] -= slopes[coarse][r];
      }
    }
    return {share, slopes};
  }

  function findUnique(a, share) {
    const out = zeros(a.ncopies);
    for (let p = 0; p <= a.nrates; p++) {
      out[a.first[p] - 1] += share[p];
      for (const n of a.others[p]) out[n - 1] += share[p];
    }
    return out;
  }

  /* In the two places of a doubled part, the first alleles are the same, and all others differ.
   * With a slope for slope and others, it is the derivative. */
  function findDoubled(a, share, slope, others) {
    const out = zeros(a.ncopies);
    for (let p = 0; p <= a.nrates; p++) {
      for (let q = 0; q <= a.nrates; q++)
        out[a.first[p] + a.first[q] - 1] += 2 * slope[p] * share[q];
      for (const n of a.others[p]) out[n - 1] += 2 * others[p];
    }
    return out;
  }

  /* k-mers in 1, 2, ... copies for each position, and the derivatives by duplication and rates. */
  function findShare(a, k, duplication, rates) {
    if (1 - sum(rates) < 0 || duplication > 1) return null;
    const {share, slopes} = findPatterns(a, k, rates);
    const unique = findUnique(a, share);
    const doubled = findDoubled(a, share, share.map((v) => v / 2), share);
    const mix = (u, d) => u.map((v, i) => (1 - duplication) * v + duplication * d[i]);
    const by = [doubled.map((v, i) => v - unique[i])];
    for (let r = 0; r < a.nrates; r++) {
      const column = slopes.map((s) => s[r]);
      by.push(mix(findUnique(a, column), findDoubled(a, share, column, column)));
    }
    return {share: mix(unique, doubled), by};
  }

  /* ---- the negative binomial distribution: mean m, variance m (1 + bias) ---- */

  /* log(n!) minus Stirling's formula */
  function stirlingError(n) {
    if (n <= 0) return 0;
    if (n < 16) {
      /* log(n!) = log((n + s)!) - log((n + 1) ... (n + s)) */
      let product = 0, at = n;
      while (at < 16) product += Math.log(++at);
      const whole = stirlingError(at) + (at + 0.5) * Math.log(at) - at;
      return whole - product - (n + 0.5) * Math.log(n) + n;
    }
    const q = n * n;
    return (1 / 12 - (1 / 360 - (1 / 1260 - 1 / 1680 / q) / q) / q) / n;
  }

  /* x log(x / mean) - x + mean, given difference = x - mean */
  function deviance(x, difference) {
    const ratio = difference / (2 * x - difference);
    if (Math.abs(ratio) > 0.1) return x * Math.log(x / (x - difference)) - difference;
    let total = 0, power = ratio;
    for (let i = 3; i < 32; i += 2) {
      power *= ratio * ratio;
      total += power / i;
    }
    return difference * ratio + 2 * x * total;
  }

  function probability(x, mean, bias) {
    const size = mean / bias, both = x + size, over = (x - mean) / (1 + bias);
    if (x === 0) return Math.exp(-size * Math.log1p(bias));
    return Math.exp(
        Math.log(size / both) + stirlingError(both) - stirlingError(size) - stirlingError(x) -
        deviance(size, -over) - deviance(x, over) -
        0.5 * Math.log(2 * Math.PI * size * (x / both)));
  }

  function digamma(x) {
    let total = 0;
    for (; x < 12; x++) total -= 1 / x;
    const q = 1 / (x * x);
    return total + Math.log(x) - 0.5 / x - q * (1 / 12 - q * (1 / 120 - q * (1 / 252 - q / 240)));
  }

  /* For counts first, first + 1, ...: each probability from its neighbour nearer to the mode. */
  function probabilities(first, n, mean, bias) {
    const p = zeros(n), scale = 1 / (1 + bias);
    const mode = Math.ceil(Math.max(0, mean - bias));
    const from = Math.max(0, Math.min(n - 1, mode - first));
    p[from] = probability(first + from, mean, bias);
    for (let i = from + 1; i < n; i++) {
      const at = first + i - 1;
      p[i] = p[i - 1] * (mean + at * bias) * scale / (at + 1);
    }
    for (let i = from; i > 0; i--) {
      const at = first + i;
      p[i - 1] = p[i] * at / scale / (mean + (at - 1) * bias);
    }
    const byMean = zeros(n), byBias = zeros(n), size = mean / bias, fall = Math.log1p(bias);
    let total = digamma(first + size) - digamma(size);
    for (let i = 0; i < n; i++) {
      const x = first + i;
      if (i > 0) total += 1 / (x - 1 + size);
      byMean[i] = p[i] * (total - fall) / bias;
      byBias[i] = p[i] * ((x / bias - size) * scale - (total - fall) * size / bias);
    }
    return {p, byMean, byBias};
  }

  /* ---- the mixture: parameters are duplication, rates, coverage, bias, length ---- */

  function predict(a, k, parameters, first, n, withSlopes) {
    const at = 1 + a.nrates, length = parameters[at + 2], f = zeros(n);
    const slopes = withSlopes ? Array.from(parameters, () => zeros(n)) : null;
    const s = findShare(a, k, parameters[0], parameters.slice(1, at));
    if (s === null) return {f, slopes};
    for (let c = 0; c < a.ncopies; c++) {
      const d = probabilities(first, n, parameters[at] * (c + 1), parameters[at + 1]);
      for (let i = 0; i < n; i++) f[i] += length * s.share[c] * d.p[i];
      if (!withSlopes) continue;
      for (let i = 0; i < n; i++) {
        for (let j = 0; j < at; j++) slopes[j][i] += length * s.by[j][c] * d.p[i];
        slopes[at][i] += length * s.share[c] * (c + 1) * d.byMean[i];
        slopes[at + 1][i] += length * s.share[c] * d.byBias[i];
      }
    }
    if (withSlopes)
      for (let i = 0; i < n; i++) slopes[at + 2][i] = f[i] / length;
    return {f, slopes};
  }

  /* ---- Levenberg-Marquardt, as in MINPACK's lmder ---- */

  /* Turn columns into R, and b into Q'b. With pivots, the longest column comes first. */
  function factorize(columns, b, pivots) {
    const n = columns.length, m = b.length, lengths = columns.map(norm);
    const order = columns.map((_, j) => j);
    for (let j = 0; j < n; j++) {
      if (pivots) {
        const tails = columns.map((c, q) => (q < j ? -1 : norm(c.subarray(j))));
        const longest = tails.indexOf(Math.max(...tails));
        [columns[j], columns[longest]] = [columns[longest], columns[j]];
        [order[j], order[longest]] = [order[longest], order[j]];
      }
      const c = columns[j];
      let size = norm(c.subarray(j));
      if (size === 0) continue;
      if (c[j] < 0) size = -size;
      const v = c.slice(j).map((value) => value / size);
      v[0] += 1;
      for (const other of [...columns.slice(j + 1), b]) {
        let dot = 0;
        for (let i = j; i < m; i++) dot += v[i - j] * other[i];
        dot /= v[0];
        for (let i = j; i < m; i++) other[i] -= dot * v[i - j];
      }
      c[j] = -size;
      c.fill(0, j + 1);
    }
    return {order, lengths};
  }

  /* R x = b; from the first zero on the diagonal, x is 0. */
  function solve(columns, b) {
    const n = columns.length, x = b.slice(0, n);
    let rank = n;
    for (let j = n - 1; j >= 0; j--)
      if (columns[j][j] === 0) rank = j;
    x.fill(0, rank);
    for (let j = rank - 1; j >= 0; j--) {
      x[j] /= columns[j][j];
      for (let i = 0; i < j; i++) x[i] -= columns[j][i] * x[j];
    }
    return {x, rank};
  }

  /* R' x = b */
  function solveTransposed(columns, b) {
    const x = b.slice();
    for (let j = 0; j < x.length; j++) {
      for (let i = 0; i < j; i++) x[j] -= columns[j][i] * x[i];
      x[j] /= columns[j][j];
    }
    return x;
  }

  const unpermute = (x, order) => {
    const out = zeros(x.length);
    order.forEach((to, j) => {
      out[to] = x[j];
    });
    return out;
  };

  /* The step of a length of about radius, and its parameter (lmpar). */
  function findStep(r, qtb, order, scale, radius, par) {
    const n = r.length;
    const newton = solve(r, qtb);
    let step = unpermute(newton.x, order), scaled = step.map((v, i) => v * scale[i]);
    let length = norm(scaled), over = length - radius;
    if (over <= 0.1 * radius) return {step, par: 0};
    const direction = () => zeros(n).map((_, j) => scale[order[j]] * (scaled[order[j]] / length));
    let low = 0;
    if (newton.rank === n) {
      const size = norm(solveTransposed(r, direction()));
      low = over / radius / size / size;
    }
    const gradient = norm(zeros(n).map((_, j) => {
      let total = 0;
      for (let i = 0; i <= j; i++) total += r[j][i] * qtb[i];
      return total / scale[order[j]];
    }));
    let high = gradient / radius;
    if (high === 0) high = Number.MIN_VALUE / Math.min(radius, 0.1);
    par = Math.min(Math.max(par, low), high);
    if (par === 0) par = gradient / length;
    for (let round = 1;; round++) {
      if (par === 0) par = Math.max(Number.MIN_VALUE, 0.001 * high);
      const stacked = r.map((column, j) => {
        const tall = zeros(2 * n);
        tall.set(column.subarray(0, n));
        tall[n + j] = Math.sqrt(par) * scale[order[j]];
        return tall;
      });
      const b = zeros(2 * n);
      b.set(qtb.subarray(0, n));
      factorize(stacked, b, false);
      step = unpermute(solve(stacked, b).x, order);
      scaled = step.map((v, i) => v * scale[i]);
      length = norm(scaled);
      const before = over;
      over = length - radius;
      if (Math.abs(over) <= 0.1 * radius || (low === 0 && over <= before && before < 0) ||
          round === 10)
        return {step, par};
      const size = norm(solveTransposed(stacked, direction()));
      const change = over / radius / size / size;
      if (over > 0) low = Math.max(low, par);
      if (over < 0) high = Math.min(high, par);
      par = Math.max(low, par + change);
    }
  }

  /* problem: residuals(x), slopes(x), lower, upper. Returns the parameters of the least squares. */
  function minimize(problem, start, tolerance, maxRounds) {
    const clamp = (x) => x.map((v, i) => Math.min(Math.max(v, problem.lower[i]), problem.upper[i]));
    const tiny = Number.EPSILON;
    let x = clamp(start), residuals = problem.residuals(x), size = norm(residuals);
    let scale = null, radius = 0, length = 0, par = 0;
    if (residuals.length < x.length) return x; /* MINPACK does not start then, either */
    for (let round = 1; round < maxRounds; round++) {
      const r = problem.slopes(x), qtb = residuals.slice();
      const {order, lengths} = factorize(r, qtb, true);
      if (scale === null) {
        scale = lengths.map((v) => v || 1);
        length = norm(x.map((v, i) => v * scale[i]));
        radius = length || 1;
      }
      if (size === 0) break;
      const slope = Math.max(...r.map((c, j) => {
        let total = 0;
        for (let i = 0; i <= j; i++) total += c[i] * (qtb[i] / size);
        return lengths[order[j]] ? Math.abs(total / lengths[order[j]]) : 0;
      }));
      if (slope === 0) break;
      scale = scale.map((v, i) => Math.max(v, lengths[i]));
      for (let ratio = 0; ratio < 1e-4;) {
        const found = findStep(r, qtb, order, scale, radius, par);
        par = found.par;
        const step = found.step.map((v) => -v), walked = norm(step.map((v, i) => v * scale[i]));
        if (round === 1) radius = Math.min(radius, walked);
        const next = clamp(x.map((v, i) => v + step[i])), there = problem.residuals(next);
        const nextSize = norm(there);
        const actual = 0.1 * nextSize < size ? 1 - (nextSize / size) ** 2 : -1;
        const moved = zeros(r.length);
        r.forEach((c, j) => {
          for (let i = 0; i <= j; i++) moved[i] += c[i] * step[order[j]];
        });
        const linear = (norm(moved) / size) ** 2, damped = par * (walked / size) ** 2;
        const predicted = linear + damped / 0.5, slopeOf = -(linear + damped);
        ratio = predicted ? actual / predicted : 0;
        if (ratio <= 0.25) {
          let by = actual >= 0 ? 0.5 : 0.5 * slopeOf / (slopeOf + 0.5 * actual);
          if (0.1 * nextSize >= size || by < 0.1) by = 0.1;
          radius = by * Math.min(radius, walked / 0.1);
          par /= by;
        } else if (par === 0 || ratio >= 0.75) {
          radius = walked / 0.5;
          par *= 0.5;
        }
        if (ratio >= 1e-4) {
          x = next;
          residuals = there;
          size = nextSize;
          length = norm(x.map((v, i) => v * scale[i]));
        }
        const settled = (limit) => Math.abs(actual) <= limit && predicted <= limit && ratio <= 2;
        if (settled(tolerance) || radius <= tolerance * length || settled(tiny) ||
            radius <= tiny * length || slope <= tiny)
          return x;
      }
    }
    return x;
  }

  /* ---- fits ---- */

  /*
   * data: k, kmers (with count 1, 2, ...), total (occurrences of all k-mers), min (the smallest
   * count that was kept). Fit the counts first to last, from this coverage on.
   */
  function fitFrom(data, ploidy, first, last, coverage) {
    const a = makeAlleles(ploidy), n = last - first + 1, at = 1 + a.nrates;
    const y = Float64Array.from({length: n}, (_, i) => data.kmers[first + i - 1] ?? 0);
    const nkmers = y.reduce((total, v, i) => total + v * (first + i), 0);
    const length = nkmers / (ploidy * coverage), rates = new Array(a.nrates);
    const weigh = (values) => values.map((v, i) => v * (first + i));
    const problem = {
      lower: [0, ...rates.fill(0), 0.6 * coverage, 1e-3, 0.01 * length],
      upper: [1, ...rates.fill(0.25), 1.6 * coverage, 20, 100 * length],
      residuals: (p) => {
        const f = predict(a, data.k, p, first, n, false).f;
        return weigh(y.map((v, i) => v - f[i]));
      },
      slopes: (p) => predict(a, data.k, p, first, n, true)
                         .slopes.map((column) => weigh(column).map((v) => -v)),
    };
    const start = Float64Array.from([0.1, ...rates.fill(0.01 / a.nrates), coverage, 0.5, length]);
    const parameters = minimize(problem, start, 1e-9, 400);
    let unexplained = 0, squares = 0;
    problem.residuals(parameters).forEach((v) => {
      unexplained += Math.abs(v);
      squares += v * v;
    });
    const fit = {
      ploidy,
      alleles: a,
      parameters,
      first,
      last,
      residualSum: squares,
      duplication: parameters[0],
      rates: parameters.slice(1, at),
      coverage: parameters[at],
      bias: parameters[at + 1],
      length: parameters[at + 2],
      sumOfRates: sum(parameters.slice(1, at)),
      explained: 1 - unexplained / nkmers,
    };
    return derive(data, fit);
  }

  /* What follows from the parameters (app/model/fitting.c). Errors are what the model leaves over,
     from the lowest count on until it is under 1, among the k-mers that are probably not the
     genome's. */
  function derive(data, fit) {
    const last = Math.min(Math.floor(fit.coverage), data.kmers.length);
    const f = predict(fit.alleles, data.k, fit.parameters, 1, last, false).f;
    fit.threshold = 1;
    while (fit.threshold < last && f[fit.threshold - 1] < 0.5 * data.kmers[fit.threshold - 1])
      fit.threshold++;
    fit.errors = 0;
    for (let x = data.min; x < fit.threshold && data.kmers[x - 1] - f[x - 1] >= 1; x++)
      fit.errors += x * (data.kmers[x - 1] - f[x - 1]);
    fit.size = (data.total - fit.errors) / (fit.ploidy * fit.coverage);
    fit.heterozygosity = leaveRepeatsOut(data, fit);
    fit.errorRate = 1 - (1 - fit.errors / data.total) ** (1 / data.k);
    return fit;
  }

  /* The rates without the alleles of repeats of many copies, which the model does not describe. */
  function leaveRepeatsOut(data, fit) {
    const described = fit.length * (1 + fit.duplication);
    const repeats = fit.size - data.frequent / (fit.ploidy * fit.coverage) - described;
    const share = Math.min(Math.max(0, repeats / described), 1);
    return fit.sumOfRates / (1 + share / (1 + (fit.ploidy - 1) ** 1.5));
  }

  /* Of fits of one ploidy, the plausible one (app/model/choice.c). */
  function choose(fits) {
    const ranked = fits.slice().sort((p, q) => q.explained - p.explained);
    const tied = ranked.filter((f) => !(ranked[0].explained - f.explained > 0.01));
    const most = Math.min(1, ...tied.map((f) => f.duplication)) + 0.1;
    let chosen = null;
    for (const f of tied)
      if (f.duplication <= most && (chosen === null || isBetter(f, chosen))) chosen = f;
    return chosen;
  }

  function isBetter(f, other) {
    const ours = f.sumOfRates, theirs = other.sumOfRates;
    return Math.abs(ours - theirs) > 0.1 * Math.max(ours, theirs) + 0.0002 && ours < theirs;
  }

  /* As the program does it: from the peak's count over 1, 2, ... twice the ploidy. */
  function fitPloidy(data, ploidy, first, last, peak) {
    const fits = [];
    for (let j = 1; j <= 2 * ploidy; j++) fits.push(fitFrom(data, ploidy, first, last, peak / j));
    return choose(fits);
  }

  /* What a fit predicts for counts 1 to n. */
  const curve = (data, fit, n) => predict(fit.alleles, data.k, fit.parameters, 1, n, false).f;

  return {fitFrom, fitPloidy, curve};
})();

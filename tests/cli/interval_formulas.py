"""Intervals as plain NumPy and SciPy have them, and rows to take them of, for the tests of evaluate's."""

import math

import numpy as np
from scipy import integrate, special, stats


def draw(rows, seed=0, rate=0.05):
    """Clicks of ten actions under a skewed logger, and a target that is nearer to uniform: the weights are at most 3."""
    random = np.random.default_rng(seed)
    logged = np.array([0.3, 0.2, 0.1, 0.1, 0.05, 0.05, 0.05, 0.05, 0.05, 0.05])
    target = np.array([0.1, 0.1, 0.1, 0.1, 0.15, 0.15, 0.1, 0.1, 0.05, 0.05])
    action = random.choice(10, size=rows, p=logged)
    click = (random.random(rows) < rate * (1 + action / 10)).astype(float)
    return logged[action], target[action], action.astype(np.int32), click


def terms(w, y):
    """Value, standard error and what each row adds, of ips and snips."""
    n = len(y)
    ips, snips = (w * y).mean(), (w * y).sum() / w.sum()
    return {"ips": (ips, w * y - ips, (w * y).std(ddof=1) / math.sqrt(n)),
            "snips": (snips, w * (y - snips) / w.mean(), math.sqrt((w**2 * (y - snips) ** 2).sum()) / w.sum())}


def left_out(name, w, y, groups=None, difference=False):
    """What estimates made again without each row, or each group of rows, differ by, in the units of what rows add."""
    n = len(y)
    groups = np.arange(n) if groups is None else groups
    count = groups.max() + 1
    rest = [total.sum() - np.bincount(groups, total, count) for total in (np.ones(n), w, y, w * y)]
    all_rows = [np.array([float(n)]), w.sum(keepdims=True), y.sum(keepdims=True), (w * y).sum(keepdims=True)]

    def value(rows, weights, losses, weighted):
        return weighted / (rows if name == "ips" else weights) - (losses / rows if difference else 0)

    return n * (1 - 1 / count) * (value(*all_rows) - value(*rest))


def expected(w, y, b=0.0, away=0.0):
    """Skewness and concentration of the mean of (w - away) (y - b) if weights met losses as the policy meets them."""
    moments = [np.mean((w - away) ** j) * np.sum(w * (y - b) ** j) / w.sum() for j in range(5)]
    _, first, second, third, fourth = moments
    variance = second - first**2
    return ((third - 3 * first * second + 2 * first**3) / (variance**1.5 * math.sqrt(len(w))),
            (fourth - 4 * first * third + 6 * first**2 * second - 3 * first**4) / (variance**2 * len(w)))


def expected_of(name, w, y, away=0.0):
    return expected(w, y, 0.0 if name == "ips" else (w * y).sum() / w.sum(), away)


def automatic(value, error, d, degrees=None, level=0.95, own=None, foreseen=(0.0, 0.0), plain=None, rows=None):
    """As engine/src/estimate/intervals/automatic.hpp says it; d is what the estimate without each group differs by, of a
    difference `own` the same of the value, and `foreseen` the skewness and concentration that are expected of single
    rows. `plain` is what each group adds, where that is something else; with `rows` the estimate is a ratio."""
    if plain is not None:
        error *= max(1, math.sqrt((d**2).sum() / (plain**2).sum()))
    low, high = automatic_ends(value, error, d, degrees, level, own, foreseen)
    bias = d.sum() / rows if rows else 0
    return low + min(bias, 0), high + max(bias, 0)


def automatic_ends(value, error, d, degrees, level, own, foreseen):
    g, k, groups = (d**3).sum() / (d**2).sum() ** 1.5, (d**4).sum() / (d**2).sum() ** 2, len(d)
    both_sides = False
    if own is not None:
        hidden = (own**3).sum() / (own**2).sum() ** 1.5
        if abs(hidden) > abs(g):
            g, k, both_sides = hidden, max(k, (own**4).sum() / (own**2).sum() ** 2), True
    degrees = degrees or groups - 1
    plain, z = stats.t.ppf((1 + level) / 2, degrees), stats.norm.ppf((1 + level) / 2)
    foreseen_g, foreseen_k = np.clip(foreseen[0], -3, 3), foreseen[1]
    share = min(max((max(abs(g), abs(foreseen_g)) - 0.12) / 0.28, 0), 1)
    if share == 0:
        return value - plain * error, value + plain * error
    spread = max(k, min(foreseen_k, 1)) - 1 / groups
    q = plain + share * (stats.t.ppf((1 + level) / 2, min(max(2 / spread, 1), degrees)) - plain)

    def end(sign):
        skew = 0.0
        for one, many in ((g, k), (foreseen_g, foreseen_k)):
            if sign * one > 0:
                skew = max(skew, abs(one) * (1 + 2 * min(max(many / one**2 - 1, 0), 0.5)))
        if skew == 0:
            return q
        events = 1 / min(skew, 3) ** 2
        limit = (events + 1) * (1 - 1 / (9 * (events + 1)) + z / (3 * math.sqrt(events + 1))) ** 3
        return max(q, plain + share * ((limit - events) / math.sqrt(events) - z))

    low, high = end(-1), end(1)
    if both_sides:
        low = high = max(low, high)
    return value - low * error, value + high * error


def likelihood(control, term, mean, fakes, level):
    """The least and the largest mean over signed measures on the rows and one more: a linear function on an ellipsoid, by
    projection. `fakes` are pairs (control, term at the low end, term at the high end)."""
    n = len(control)
    lacking = (max if control.mean() < mean else min)(fake for fake, _, _ in fakes)
    best, found = math.inf, []
    for fake, low, high in fakes:
        c = np.append(control, fake)
        for sign, t in ((1, low), (-1, high)):
            x = sign * np.append(term, t)
            ones = np.ones(n + 1)
            away = c - c.mean()
            q = ones / (n + 1) + away * (mean - c.mean()) / (away @ away)  # the measure next to the rows
            rest = x - x.mean() - away * (away @ x) / (away @ away)
            divergence = ((n + 1) * q - 1) @ ((n + 1) * q - 1) / (n + 1)
            if fake == lacking:
                best = divergence
            found.append((sign, q @ x, math.sqrt(rest @ rest), divergence))
    radius = best + stats.f.ppf(level, 1, n) / (n + 1)
    ends = {1: [], -1: []}
    for sign, value, spread, divergence in found:
        if divergence <= radius:
            ends[sign].append(value - spread * math.sqrt((radius - divergence) / (n + 1)))
    return min(ends[1]), -min(ends[-1])


def mixture_boundary(v, delta):
    """s at which the mean over gamma priors of the integral of exp(λ s − ψ(λ) v) is 1/δ, by quadrature."""

    def log_value(s):
        values = []
        for rho in (1, 16, 256, 4096, 65536):
            def log_integrand(u):
                return v * np.log(u) + (1 - u) * (s + v) + (rho - 1) * np.log(u) - rho * u

            peak = min((v + rho - 1) / (s + v + rho), 1) if v + rho > 1 else 1e-12
            top = log_integrand(max(peak, 1e-12))
            width = 12 / math.sqrt(v + rho)
            inside = [p for p in (peak - width, peak - width / 4, peak, peak + width / 4, peak + width) if 0 < p < 1]
            total = integrate.quad(lambda u: np.exp(log_integrand(u) - top), 0, 1, points=inside, limit=500,
                                   epsabs=1e-13, epsrel=1e-13)[0]
            norm = special.gammaln(rho) - rho * math.log(rho) + math.log(special.gammainc(rho, rho))
            values.append(math.log(total) + top - norm)
        return special.logsumexp(values) - math.log(len(values))

    low, high = 0.0, 1.0
    while log_value(high) < -math.log(delta):
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if log_value(middle) < -math.log(delta) else (low, middle)
    return high

"""A shop whose truth is known: customers, what each item earns from each of them, and what today's rule shows them.

  shop.py customers ROWS SEED        visits to the shop, as CSV on stdout
  shop.py show SEED < customers.csv  what today's rule shows, how likely that was, and what was earned
  shop.py earn SEED < shown.csv      adds what was earned to what a policy has shown
  shop.py worth < shown.csv          what showing these items earns on average, without the noise of single visits
"""

import csv
import datetime
import math
import random
import sys

ITEMS = [f"SKU-{k:04}" for k in range(1, 9)]
CITIES = ["Berlin", "Oslo", "Paris", "Rome"]

# How the taste for each item grows with age, share of visits by phone, visits and basket, in standard deviations; then
# what it earns from everyone, and the city whose people like it.
TASTE = [
    [+1.1, -0.3, +0.2, +0.4], [-0.9, +0.7, +0.1, -0.2], [+0.2, +1.0, -0.4, +0.3], [-0.3, -0.9, +0.5, +0.1],
    [+0.6, +0.2, +0.9, -0.5], [-0.5, -0.2, -1.0, +0.4], [+0.1, +0.4, -0.1, +1.1], [-0.4, -0.6, +0.3, -0.8],
]
EARNS = [8.1, 8.3, 7.8, 7.9, 8.0, 8.2, 7.7, 8.0]
LIKED_IN = ["Rome", "Berlin", "Oslo", "Paris", "Berlin", "Rome", "Paris", "Oslo"]


def customers(rows, seed):
    draw = random.Random(seed)
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["visit", "date", "city", "age", "phone_share", "visits", "basket"])
    day = datetime.date(2026, 1, 1)
    for row in range(rows):
        visits = sum(draw.random() < 0.3 for _ in range(40))
        # Some customers are new, and nobody knows how often they come.
        known = "" if draw.random() < 0.02 else visits
        out.writerow([f"v{seed}-{row:07}", day + datetime.timedelta(draw.randrange(28)), draw.choice(CITIES),
                      draw.randrange(18, 81), round(draw.random(), 3), known, round(math.exp(draw.gauss(4, 1)), 2)])


def standardised(row):
    visits = float(row["visits"]) if row["visits"] else 12.0
    return [(float(row["age"]) - 49) / 18.2, (float(row["phone_share"]) - 0.5) / 0.29, (visits - 12) / 2.9,
            max(-1.0, min(3.0, (float(row["basket"]) - 90) / 118))]


def earnings(row):
    """What each item earns from this customer on average."""
    z = standardised(row)
    return [earns + sum(t * x for t, x in zip(taste, z)) * 0.95 + (0.5 if row["city"] == city else 0)
            for earns, taste, city in zip(EARNS, TASTE, LIKED_IN)]


def todays_rule(row):
    """Shows items by age and phone alone, and one in ten at random."""
    z = standardised(row)
    scores = [math.exp(0.5 * (taste[0] * z[0] + taste[1] * z[1])) for taste in TASTE]
    return [0.9 * score / sum(scores) + 0.1 / len(ITEMS) for score in scores]


def show(seed):
    draw = random.Random(seed)
    rows = csv.DictReader(sys.stdin)
    out = csv.DictWriter(sys.stdout, [*rows.fieldnames, "item", "propensity", "revenue"], lineterminator="\n")
    out.writeheader()
    for row in rows:
        chances = todays_rule(row)
        k = draw.choices(range(len(ITEMS)), chances)[0]
        out.writerow({**row, "item": ITEMS[k], "propensity": chances[k],
                      "revenue": round(earnings(row)[k] + draw.gauss(0, 1), 2)})


def earn(seed):
    draw = random.Random(seed)
    rows = csv.DictReader(sys.stdin)
    out = csv.DictWriter(sys.stdout, [*rows.fieldnames, "revenue"], lineterminator="\n")
    out.writeheader()
    for row in rows:
        out.writerow({**row, "revenue": round(earnings(row)[ITEMS.index(row["action"])] + draw.gauss(0, 1), 2)})


def worth():
    total, best, today, rows = 0.0, 0.0, 0.0, 0
    for row in csv.DictReader(sys.stdin):
        earns = earnings(row)
        rows += 1
        best += max(earns)
        today += sum(p * r for p, r in zip(todays_rule(row), earns))
        total += earns[ITEMS.index(row["action"])] if "action" in row else 0
    print(f"{total / rows:.4f} {today / rows:.4f} {best / rows:.4f}")


if __name__ == "__main__":
    command, arguments = sys.argv[1], [int(argument) for argument in sys.argv[2:]]
    {"customers": customers, "show": show, "earn": earn, "worth": worth}[command](*arguments)

"""The program's random streams, written again from their definition: Philox4x32-10, keyed by (seed, stream, row)."""

import math

MASK = 0xFFFFFFFF


def philox(counter, key):
    """Ten rounds of Salmon et al. (2011) on four words."""
    a, b, c, d = counter
    k0, k1 = key
    for _ in range(10):
        high0, low0 = divmod(0xD2511F53 * a, 1 << 32)
        high1, low1 = divmod(0xCD9E8D57 * c, 1 << 32)
        a, b, c, d = high1 ^ b ^ k0, low1, high0 ^ d ^ k1, low0
        k0, k1 = (k0 + 0x9E3779B9) & MASK, (k1 + 0xBB67AE85) & MASK
    return a, b, c, d


class Stream:
    def __init__(self, seed, stream, row):
        self.key = (seed & MASK, seed >> 32)
        self.counter = [row & MASK, row >> 32, stream, 0]
        self.words = []
        self.spare = None

    def uniform(self):
        if not self.words:
            self.words = list(philox(self.counter, self.key))
            self.counter[3] += 1
        low, high = self.words.pop(0), self.words.pop(0)
        grid = (low | high << 32) >> 11
        return grid * 2.0**-53 if grid else 2.0**-54

    def normal(self):
        if self.spare is not None:
            spare, self.spare = self.spare, None
            return spare
        radius = math.sqrt(-2 * math.log(self.uniform()))
        angle = 2 * math.pi * self.uniform()
        self.spare = radius * math.sin(angle)
        return radius * math.cos(angle)

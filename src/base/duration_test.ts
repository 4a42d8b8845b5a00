import { assertEquals } from "@std/assert";
import { formatDuration, parseDuration } from "./duration.ts";

Deno.test("a duration is written as a person would give it", () => {
  const written: [number, string][] = [
    [0, "0ms"],
    [250, "250ms"],
    [1_500, "1.5s"],
    [60_000, "1m"],
    [90_000, "1m30s"],
    [600_000, "10m"],
    [3_600_000, "1h"],
    [5_400_000, "1h30m"],
    [86_400_000, "24h"],
  ];
  for (const [ms, text] of written) assertEquals(formatDuration(ms), text);
});

Deno.test("a duration is read as it is written; one without a unit is none", () => {
  const read: [string, number | undefined][] = [
    ["250ms", 250],
    ["1.5s", 1_500],
    ["1m30s", 90_000],
    ["1h", 3_600_000],
    ["30", undefined],
    ["30 s", undefined],
    ["-1s", undefined],
    ["", undefined],
    ["s", undefined],
  ];
  for (const [text, ms] of read) assertEquals(parseDuration(text), ms, text);
});

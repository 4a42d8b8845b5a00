/** Whether a soak went well. */
import { type Sample, trend } from "./series.ts";

const RSS_SHARE = 0.05;
const RSS_MB = 5;
const FDS = 5;

export const RULE = `The verdict. All of this must hold:
  - every watcher received every event of its session's journal exactly once, in order, unchanged
  - every message was taken, every turn ended ok, every tool call went well, svc logged no warning
    and no error and stopped with code 0
  - no growth after the warm-up, which is the first third of the time: of the line with the least
    squares through the samples of the last two thirds, the rise from its start to its end is at
    most ${
  RSS_SHARE * 100
} % of the mean RSS (or ${RSS_MB} MB, if that is more), ${FDS} file descriptors, ${FDS} event
    polls and ${FDS} threads
`;

const SHOWN = 10;
/** Fewer samples than this say nothing about growth. */
const SAMPLES_MIN = 12;

/** The verdict in words; `problems` is what went wrong on the way. */
export function judge(
  samples: readonly Sample[],
  problems: readonly string[],
): { holds: boolean; lines: string[] } {
  const lines: string[] = [];
  let grown = samples.length < SAMPLES_MIN;
  if (grown) lines.push(`growth: too short to say, ${samples.length} samples`);
  else {
    const rss = trend(samples, "rss_mb");
    const heap = trend(samples, "heap_mb");
    const fds = trend(samples, "fds");
    const polls = trend(samples, "polls");
    const rss_max = Math.max(RSS_MB, rss.mean * RSS_SHARE);
    const threads = trend(samples, "threads");
    grown = rss.growth > rss_max || [fds, polls, threads].some(({ growth }) => growth > FDS);
    const signed = (value: number) => `${value < 0 ? "" : "+"}${value.toFixed(1)}`;
    const peak = Math.max(...samples.map((it) => it.rss_mb));
    lines.push(
      `RSS: mean ${rss.mean.toFixed(1)} MB, growth ${signed(rss.growth)} MB ` +
        `(at most ${rss_max.toFixed(1)}), peak ${peak.toFixed(1)} MB`,
      `heap: mean ${heap.mean.toFixed(1)} MB, growth ${signed(heap.growth)} MB`,
      `file descriptors: mean ${fds.mean.toFixed(1)}, growth ${
        signed(fds.growth)
      } (at most ${FDS})`,
      `event polls: mean ${polls.mean.toFixed(1)}, growth ${signed(polls.growth)}`,
      `threads: mean ${threads.mean.toFixed(1)}, growth ${signed(threads.growth)}`,
    );
  }
  for (const problem of problems.slice(0, SHOWN)) lines.push(`problem: ${problem}`);
  if (problems.length > SHOWN) lines.push(`and ${problems.length - SHOWN} more problems`);
  const holds = !grown && problems.length === 0;
  lines.push(`verdict: ${holds ? "it holds" : "it does not hold"}`);
  return { holds, lines };
}

/** The warnings and errors of a log. */
export function logged(log: string): string[] {
  const lines = log.split("\n").filter((line) => /"level":"(warn|error)"/.test(line));
  return lines.map((line) => `svc logged ${line}`);
}

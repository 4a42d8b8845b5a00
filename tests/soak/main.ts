/** A soak: many sessions, watched over every transport, for a long time. `--help` says the rest. */
import { dirname, fromFileUrl, join, resolve } from "@std/path";
import { parseArgs } from "@std/cli/parse-args";
import { delay } from "@std/async";
import { messageOf } from "../../src/protocol/errors.ts";
import { Random } from "../support/random.ts";
import { type Daemon, Place } from "../support/svc.ts";
import { startDaemon, startModel } from "./processes.ts";
import { toSvg } from "./chart.ts";
import { Load } from "./load.ts";
import { type Sample, toCsv } from "./series.ts";
import { judge, logged, RULE } from "./verdict.ts";

const HELP = `Runs svc under a steady load for a long time and says whether it stays well.

  deno task soak [--minutes 60] [--sessions 50] [--messages 100]
                 [--restart-minutes 5] [--out dist/soak]

  --minutes N    how long the load lasts; the messages are spread over it
  --sessions N   sessions, each in a directory of its own
  --messages N   messages a session
  --restart-minutes N
                 restarts svc so often; 0, the default, does not
  --out DIR      where soak.csv and soak.svg are written
  --seed N       repeats the times of a run
  --source       run svc from source, not the binary in SVC_BIN or dist/svc

Each session is watched over the local socket, a WebSocket and server-sent events. Every fifth
message has the model read a file and list a directory, every twentieth run a command.
The delay of an event is the time at which a watcher had it minus its \`at\`, in this process, which
shares the machine with svc.

${RULE}
Ctrl-C ends the load early; what was measured so far is judged all the same.
The exit code is 0 when all holds, else 1.`;

const root = dirname(dirname(dirname(fromFileUrl(import.meta.url))));
const SAMPLE_S = 5;
/** By then the sessions rest and their tools' workers have ended. */
const REST_S = 45;

const args = parseArgs(Deno.args, {
  string: ["minutes", "sessions", "messages", "restart-minutes", "out", "seed"],
  boolean: ["help", "source"],
  default: {
    minutes: "60",
    sessions: "50",
    messages: "100",
    "restart-minutes": "0",
    out: join(root, "dist", "soak"),
  },
  unknown(arg) {
    console.error(`soak: ${arg} is not an option; --help lists them`);
    Deno.exit(2);
  },
});
if (args.help) {
  console.log(HELP);
  Deno.exit(0);
}
const [minutes, sessions, messages] = [args.minutes, args.sessions, args.messages].map(Number);
if (![minutes, sessions, messages].every((it) => it > 0)) {
  console.error("soak: --minutes, --sessions and --messages are numbers above 0");
  Deno.exit(2);
}
const restart_s = Number(args["restart-minutes"]) * 60;
if (!(restart_s >= 0)) {
  console.error("soak: --restart-minutes is a number, 0 or above");
  Deno.exit(2);
}
const out = resolve(args.out);
const random = new Random(Number(args.seed ?? Math.floor(Math.random() * 1e9)));
if (args.source) Deno.env.delete("SVC_BIN");
else if (!Deno.env.get("SVC_BIN")) Deno.env.set("SVC_BIN", join(root, "dist", "svc"));

Deno.exit(await soak() ? 0 : 1);

async function soak(): Promise<boolean> {
  const stop = new AbortController();
  await using model = await startModel();
  await using place = new Place();
  place.configure(
    `[cortex]\ncurator = false\n` +
      `[models.soak]\nkind = "openai-compatible"\nbase_url = "${model.url}"\n` +
      `[agent]\napproval = "auto"\n`,
  );
  let daemon = await startDaemon(place);
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    Deno.addSignalListener(signal, () => {
      if (stop.signal.aborted) {
        Deno.kill(daemon.pid, "SIGKILL");
        Deno.exit(130);
      }
      console.log("stopping; once more ends it at once");
      stop.abort();
    });
  }
  const { version } = (await daemon.http("GET", "/v1/health")).json;
  console.log(
    `svc ${version}, pid ${daemon.pid}: ${sessions} sessions, ${messages} messages each, ` +
      `over ${minutes} min; seed ${random.seed}`,
  );
  const samples: Sample[] = [];
  const problems: string[] = [];
  const load = new Load({ daemon, place, random, minutes, sessions, messages }, problems);
  let events = 0;
  let took_s = 0;
  let rest = "";
  let restarts = 0;
  const end = async (ending: Daemon) => {
    const { code } = await ending.stop();
    if (code !== 0) problems.push(`svc ended with code ${code}`);
    problems.push(...logged(await ending.log));
  };
  try {
    await load.open();
    const over = new AbortController();
    const working = load.run(stop.signal).finally(() => over.abort());
    for (let at = SAMPLE_S; !over.signal.aborted; at += SAMPLE_S) {
      const left_ms = Math.max(0, at - load.seconds) * 1000;
      await delay(left_ms, { signal: over.signal }).catch(() => {});
      if (over.signal.aborted) break;
      if (restart_s > 0 && load.seconds >= (restarts + 1) * restart_s) {
        restarts++;
        await load.restart(async (old) => {
          await end(old);
          return daemon = await startDaemon(place);
        });
      }
      samples.push(await load.sample());
      if (samples.length % (60 / SAMPLE_S) === 0) report(samples.at(-1)!);
    }
    await working;
    took_s = load.seconds;
    if (!stop.signal.aborted) rest = await atRest(load, samples);
    events = await load.check();
    await load.close();
  } catch (error) {
    problems.push(messageOf(error));
  }
  await end(daemon);
  const verdict = judge(samples, problems);

  const title = `${sessions} sessions, ${messages} messages each`;
  const subtitle = `svc ${version}, ${new Date().toISOString().slice(0, 16)}Z; ` +
    `${load.sent} messages and ${events} events in ${(took_s / 60).toFixed(1)} minutes, ` +
    `${restarts} restarts`;
  Deno.mkdirSync(out, { recursive: true });
  Deno.writeTextFileSync(join(out, "soak.csv"), toCsv(samples));
  Deno.writeTextFileSync(join(out, "soak.svg"), toSvg(samples, title, subtitle));
  console.log(`\n${subtitle}`);
  console.log(`delay of all events: ${load.delays()}`);
  if (rest !== "") console.log(rest);
  console.log(verdict.lines.join("\n"));
  console.log(`${join(out, "soak.csv")}\n${join(out, "soak.svg")}`);
  return verdict.holds;
}

function report(
  { seconds, messages, delay_p50_ms, delay_p99_ms, rss_mb, heap_mb, fds, polls, threads }: Sample,
) {
  console.log(
    `${(seconds / 60).toFixed(0)} min: ${messages} messages, ` +
      `delay p50 ${delay_p50_ms ?? "-"} p99 ${delay_p99_ms ?? "-"} ms, ` +
      `RSS ${rss_mb.toFixed(1)} MB, heap ${
        heap_mb.toFixed(1)
      } MB, ${fds} descriptors, ${polls} event polls, ${threads} threads`,
  );
}

/** What is left when the load is over and all that was lent out has been given back. */
async function atRest(load: Load, samples: readonly Sample[]): Promise<string> {
  await delay(REST_S * 1000);
  const { rss_mb, heap_mb } = await load.sample();
  const [first] = samples;
  const before = first === undefined ? "" : ` (${first.rss_mb} MB after the first ${SAMPLE_S} s)`;
  return `${REST_S} s after the load: RSS ${rss_mb} MB${before}, heap ${heap_mb} MB`;
}

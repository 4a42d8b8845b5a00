/**
 * Random trees and random changes by tools, commands and a person: a rewind gives byte for byte the
 * files of that time, or names what it kept.
 *
 * SVC_SCALE=1 makes it long, SVC_TEST_SEED repeats a run.
 */
import { assert, assertEquals } from "@std/assert";
import { dirname, join } from "@std/path";
import { granted } from "../support/permissions.ts";
import { Random } from "../support/random.ts";
import { gitInstalled } from "../support/repository.ts";
import { Scenario, until } from "../support/scripted.ts";
import { can_run_svc } from "../support/svc.ts";
import { watchesOf } from "../support/watches.ts";

const ignore = !can_run_svc || !gitInstalled() || Deno.build.os === "windows";
const env = (name: string) => granted("env") ? Deno.env.get(name) : undefined;
const ROUNDS = env("SVC_SCALE") === "1" ? 100 : 3;
const TURNS = 5;

const NAMES = ["a", "b c", "new\nline", "ü ☃", "-rf", "*", "a.txt", '"q"', "\\", "tab\t", " "];
const DIRECTORIES = ["", "d/", "d/e f/", "ö/", "d/deep/er/", "x\ny/", "filler/7/"];
/** So many that the kernel notes changes, in every second round. */
const FILLERS = 1_000;
const MODES = [0o644, 0o755, 0o600, 0o640, 0o444];

type Tree = Record<string, string>;

/**
 * Files, links and empty directories; not what no state has: svc's directory, `.git`, nested
 * repositories.
 */
function treeOf(dir: string, prefix = ""): Tree {
  const tree: Tree = {};
  const entries = [...Deno.readDirSync(join(dir, prefix))];
  if (prefix !== "" && entries.length === 0) tree[prefix] = "empty";
  for (const { name } of entries) {
    if (prefix === "" && [".svc", ".git", "nested"].includes(name)) continue;
    const path = prefix + name;
    const info = Deno.lstatSync(join(dir, path));
    if (info.isSymlink) tree[path] = `-> ${Deno.readLinkSync(join(dir, path))}`;
    else if (info.isDirectory) Object.assign(tree, treeOf(dir, `${path}/`));
    else {
      const text = Deno.readFileSync(join(dir, path)).toBase64();
      tree[path] = `${(info.mode! & 0o777).toString(8)} ${text}`;
    }
  }
  return Object.fromEntries(Object.entries(tree).sort());
}

/** A shell command that makes random changes. */
function randomCommand(random: Random): string {
  const lines = ['cd -- "$(pwd)"'];
  for (let n = 1 + random.below(6); n > 0; n--) {
    const directory = random.pick(DIRECTORIES);
    const path = quoted(`./${directory}${random.pick(NAMES)}`);
    const other = quoted(`./${random.pick(DIRECTORIES)}${random.pick(NAMES)}`);
    const mode = random.pick(MODES).toString(8);
    const number = random.below(1_000);
    lines.push(random.pick([
      `mkdir -p ${quoted(`./${directory}`)} && printf '${number}\\000\\n' >${path}`,
      `mkdir -p ${
        quoted(`./${directory}`)
      } && printf '${number}' >${path} && chmod ${mode} ${path}`,
      `[ -d ${path} ] || rm -f ${path}`,
      `[ -L ${path} ] || [ ! -f ${path} ] || chmod ${mode} ${path}`,
      `[ -e ${path} ] || ln -s ${other} ${path}`,
      // In a circle.
      `[ -e ${path} ] || [ -L ${path} ] || ln -s "$(basename ${path})" ${path}`,
      `[ ! -e ${path} ] || mv -f ${path} ${other}`,
      `rm -rf ${path} && mkdir -p ${path} && printf '${number}' >${path}/inside`,
      `rm -rf ${quoted(`./${directory}` || "./d")}?*`,
      `mkdir -p ./empty/${number}`,
      `mkdir -p nested && git init -q nested && printf ${number} >nested/file`,
    ]));
  }
  return lines.map((line) => `{ ${line}; } 2>/dev/null`).join("\n") + "\ntrue";
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Changes a file as a person would. @returns its path */
function changeOne(random: Random, dir: string): string {
  const paths = Object.keys(treeOf(dir)).filter((path) => !path.endsWith("/"));
  const path = paths.length > 0 && random.chance(0.7) ? random.pick(paths) : "of a person";
  const at = join(dir, path);
  if (random.chance(0.3) && paths.includes(path)) Deno.removeSync(at);
  else {
    try {
      if (Deno.lstatSync(at).isSymlink) Deno.removeSync(at);
    } catch {
      Deno.mkdirSync(dirname(at), { recursive: true });
    }
    Deno.writeTextFileSync(at, `mine ${random.below(1_000)}`);
  }
  return path;
}

/** Waits a moment for the kernel to note changes, which it does not everywhere. */
async function watched({ daemon }: Scenario): Promise<void> {
  if (Deno.build.os !== "linux") return;
  await until(() => watchesOf(daemon.pid).length > 0, "a watch", 2_000).catch(() => {});
}

async function oneRound(seed: number, is_large: boolean): Promise<void> {
  const random = new Random(seed);
  const steps = Array.from({ length: TURNS }, (_, n) => [
    random.chance(0.3)
      ? { calls: [{ name: "write_file", args: { path: `by tool ${n}/ü`, content: `${n}` } }] }
      : { calls: [{ name: "run_command", args: { command: randomCommand(random) } }] },
    { text: "Done." },
  ]).flat();
  await using it = await Scenario.begin(steps);
  const { workdir } = it;
  new Deno.Command("sh", {
    args: ["-c", `${randomCommand(random)}\n${randomCommand(random)}`],
    cwd: workdir,
  }).outputSync();
  for (let n = 0; is_large && n < FILLERS; n++) {
    const directory = join(workdir, `filler/${n % 30}`);
    Deno.mkdirSync(directory, { recursive: true });
    Deno.writeTextFileSync(join(directory, `${n}`), `${n}`);
  }
  /** The files before each turn, by its message. */
  const before: { message_id: string; tree: Tree }[] = [];
  for (let n = 0; n < TURNS; n++) {
    if (random.chance(0.3)) changeOne(random, workdir);
    const tree = treeOf(workdir);
    const ended = it.client.of("turn.completed").length;
    const { message_id } = await it.send(`turn ${n}`);
    await it.event("turn.completed", () => it.client.of("turn.completed").length > ended);
    before.push({ message_id, tree });
    if (is_large) await watched(it);
  }
  const { turns } = await it.call("session.changes");
  const wrote = new Set(turns.map((turn: { message_id: string }) => turn.message_id));
  for (let tries = 0; tries < 4; tries++) {
    if (random.chance(0.5)) changeOne(random, workdir);
    const now = treeOf(workdir);
    const { message_id, tree } = random.pick(before.filter((each) => wrote.has(each.message_id)));
    const keep = random.chance(0.5);
    const call = { message_id, force: keep ? [] : true };
    const preview = await it.call("session.rewind", { ...call, dry_run: true });
    assertEquals(treeOf(workdir), now, "a preview changes nothing");
    const done = await it.call("session.rewind", call);
    const { rewind_id: _, ...said } = done;
    assertEquals(said, preview);
    const after = treeOf(workdir);
    const kept = new Set(done.kept.map(({ path }: { path: string }) => path));
    assert(keep || kept.size === 0, "force keeps nothing");
    for (const path of new Set([...Object.keys(tree), ...Object.keys(after)])) {
      // Of empty directories, those that the person made or removed stay as they are.
      const is_left = path.endsWith("/") && keep && after[path] !== tree[path];
      const expected = kept.has(path) || is_left ? now[path] : tree[path];
      assertEquals(after[path], expected, `${JSON.stringify(path)}, ${JSON.stringify(done)}`);
    }
    if (random.chance(0.5)) {
      await it.call("session.rewind", { undo: true });
      assertEquals(treeOf(workdir), now);
    }
  }
}

Deno.test({
  name: `${ROUNDS} random trees with random changes: a rewind is exact, or names what it kept`,
  ignore,
  async fn() {
    const first = Number(env("SVC_TEST_SEED") ?? Math.floor(Math.random() * 1e9));
    for (let round = 0; round < ROUNDS; round++) {
      try {
        await oneRound(first + round, round % 2 === 1);
      } catch (error) {
        throw new Error(`SVC_TEST_SEED=${first + round}`, { cause: error });
      }
    }
  },
});

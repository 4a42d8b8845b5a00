/**
 * A repository, or a command that ran in it, put something else where svc reads a file outside of its
 * jails: a pipe, a device, a link to a file of the person, a file without an end. A daemon that opens
 * it stands still for good, shows the file or runs out of memory.
 */
import { deadline } from "@std/async";
import { join } from "@std/path";
import { attacksBy, type Json, type Loot, lootOf, type Need, sharedStage } from "./kit.ts";

const attack = attacksBy("repository");
const it = sharedStage({ toml: "[policy]\nallow_project = true\n" });
/** The daemon answers within this, or never again. */
const ANSWER_MS = 30_000;

/** What takes the place of a file, as lines of shell: `$1` is the file, `$2` the secret one. */
const TRAPS: Record<string, string> = {
  "a pipe": 'mkfifo "$1"',
  "a link to a device": 'ln -s /dev/zero "$1"',
  "a link to the person's file": 'ln -s "$2" "$1"',
  "a link to a pipe": 'mkfifo "$1.pipe"; ln -s "$1.pipe" "$1"',
  "a file of 3 GiB": 'truncate -s 3G "$1"',
  "a directory": 'mkdir "$1"',
};

/** Something that svc reads. */
interface Reader {
  /** The file, in a directory of its own. */
  file: string;
  /** Makes what is needed around it. */
  prepare?(root: string): Promise<unknown>;
  /** What a harmless file has; as it is when left out. */
  plain?: string;
  /** Has it read; what came of that. */
  read(root: string): Promise<unknown>;
  /** What only shows when the harmless file was read. */
  shows: string;
  needs?: Need[];
}

const worktree = (verb: string, more: Json = {}) => (workdir: string) =>
  it.stage.call(`worktree.${verb}`, { workdir, ...more });

async function withWorktree(root: string): Promise<void> {
  await it.stage.victim.repository(root);
  await worktree("create", { name: "task" })(root);
  it.stage.victim.write(join(root, ".svc/worktrees/task/new.txt"), "of the worktree\n");
}

const READERS: Record<string, Reader> = {
  "where a worktree is": {
    file: ".git/worktrees/task/gitdir",
    prepare: withWorktree,
    read: worktree("list"),
    shows: '"commit"',
    needs: ["git"],
  },
  "why a worktree is locked": {
    file: ".git/worktrees/task/locked",
    prepare: withWorktree,
    plain: "it is mine",
    read: worktree("clean", { name: "task" }),
    shows: "it is mine",
    needs: ["git"],
  },
  "the index of a worktree": {
    file: ".git/worktrees/task/index",
    prepare: withWorktree,
    read: worktree("diff", { name: "task" }),
    shows: "of the worktree",
    needs: ["git"],
  },
  "how a project is built": {
    file: "package.json",
    plain: '{"scripts": {"build": "echo built"}}',
    read: (workdir) => it.stage.call("verify.build", { workdir }),
    shows: '"package.json"',
  },
  "how a project is linted, by its Makefile": {
    file: "Makefile",
    plain: "lint:\n\techo clean\n",
    read: (workdir) => it.stage.call("verify.lint", { workdir }),
    shows: '"Makefile"',
  },
  "which tool servers a project brings": {
    file: "svc.policy.yaml",
    plain: "mcp_servers: [{name: harmless, transport: stdio, command: cat}]\n",
    async read(root) {
      const session_id = await it.stage.session(root);
      return await it.stage.call("mcp.list_servers", { session_id });
    },
    shows: "harmless",
  },
  "a source of research": {
    file: "notes.txt",
    plain: "The heron eats mostly fish, and it stands still for a long time to catch them.\n",
    read: (workdir) =>
      it.stage.call("task.run", {
        task_type: "research",
        query: "What does the heron eat?",
        extra: { workdir, files: ["notes.txt"] },
      }),
    shows: "mostly fish",
  },
};

/** Reads; gives what was answered, also as an error. @throws when nothing comes. */
async function answer(work: Promise<unknown>): Promise<string> {
  const said = work.then((value) => JSON.stringify(value), (error) => String(error.message));
  return await deadline(said, ANSWER_MS);
}

let places = 0;
async function place({ prepare }: Reader): Promise<string> {
  const root = it.stage.workdir(`project-${places++}`);
  await prepare?.(root);
  return root;
}

async function control(reader: Reader): Promise<Loot> {
  const root = await place(reader);
  if (reader.plain !== undefined) it.stage.victim.write(join(root, reader.file), reader.plain);
  return lootOf(await answer(reader.read(root)), reader.shows);
}

async function attempt(reader: Reader, trap: string): Promise<Loot> {
  const { victim, secret, secret_file } = it.stage;
  const root = await place(reader);
  const file = join(root, reader.file);
  const said = await victim.sh(
    `rm -f "$1"; ${trap}`.replaceAll("$1", file)
      .replaceAll("$2", secret_file),
  );
  if (said !== "") throw new Error(said);
  try {
    const answered = await answer(reader.read(root));
    await answer(it.stage.call("daemon.health"));
    const [kept] = await Promise.all([victim.sh(`cat '${secret_file}'`)]);
    return kept === secret ? lootOf(answered, secret) : "the person's file was written";
  } catch (error) {
    // It stands still: the next attack needs another.
    await it.stage.daemon.kill();
    it.stage.daemon = await it.stage.serve();
    return `the daemon does not answer: ${error}`;
  }
}

for (const [what, reader] of Object.entries(READERS)) {
  for (const [trap, line] of Object.entries(TRAPS)) {
    attack(`${trap} in place of ${what}`, {
      control: () => control(reader),
      attempt: () => attempt(reader, line),
      needs: reader.needs,
    });
  }
}

attack("a link in place of the list of worktrees shows the names of a person's files", {
  needs: ["git"],
  async control() {
    const root = it.stage.workdir(`project-${places++}`);
    await it.stage.victim.repository(root);
    it.stage.victim.mkdir(join(root, ".svc/worktrees/secret-name"), 0o700);
    return lootOf(await answer(worktree("list")(root)), "secret-name");
  },
  async attempt() {
    const root = it.stage.workdir(`project-${places++}`);
    await it.stage.victim.repository(root);
    it.stage.victim.mkdir(join(root, ".svc"), 0o700);
    it.stage.victim.mkdir(join(it.stage.victim.home, "private/secret-name"), 0o700);
    await it.stage.victim.sh(`ln -s "$HOME/private" '${root}/.svc/worktrees'`);
    return lootOf(await answer(worktree("list")(root)), "secret-name");
  },
});

attack("a link in place of the copy that a diff makes of an index", {
  needs: ["git"],
  control: () => copied((root) => `${root}/plain-file`),
  attempt: () => copied(() => it.stage.secret_file),
});

/** A diff's copy of the index was written through a link of the name that it used to have. */
async function copied(target: (root: string) => string): Promise<Loot> {
  const { victim } = it.stage;
  const root = it.stage.workdir(`project-${places++}`);
  await withWorktree(root);
  const path = target(root);
  const before = await victim.sh(`cat '${path}' 2>/dev/null`);
  const link = join(root, ".git/worktrees/task/svc-diff.index");
  await victim.sh(`ln -s '${path}' '${link}'`);
  // The control: whoever writes to that name writes the file.
  if (path !== it.stage.secret_file) await victim.sh(`cat '${root}/.git/index' > '${link}'`);
  await answer(worktree("diff", { name: "task" })(root));
  const after = await victim.sh(`cat '${path}' 2>/dev/null`);
  return after === before ? undefined : `${path} was written`;
}

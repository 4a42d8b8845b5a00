/**
 * A hirer reads files of the operator's that were not offered. A directory that is cloned is not what
 * it looks like: an earlier task in it made its `.git` lead to another repository. Or what is offered
 * holds the directory of a session, which no other task may see.
 */
import { join } from "@std/path";
import { freePort } from "../support/free_port.ts";
import { attacksBy, type Json, type Loot, lootOf, sharedStage } from "./kit.ts";

const TOKEN = "token-of-the-hirer";
const attack = attacksBy("hirer");
const needs = ["git", "sandbox"] as const;
let port = 0;

const it = sharedStage({
  env: { SVC_SERVE_TOKENS: TOKEN },
  async prepare(stage) {
    port = freePort();
    stage.configure(
      `[cortex]\ncurator = false\n[tasks]\nworkers = 1\nworkdirs = ["${stage.workdir("offer")}"]\n`,
    );
    await stage.victim.repository(join(stage.victim.home, "private"), {
      "secret.txt": stage.secret,
    });
  },
  get args() {
    return ["--enable-agent-routes", "--addr", `127.0.0.1:${port}`];
  },
});

async function request(method: string, path: string, body?: unknown, prefer = ""): Promise<Json> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    headers: { "x-svc-bearer": TOKEN, "content-type": "application/json", prefer },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  return await response.json();
}

const task = (repo: string) => ({
  task_type: "code",
  description: "read secret.txt",
  effort: "minimal",
  extra: {
    repo,
    model: "builtin/toolbelt",
    acceptance_criteria: [{
      id: "found",
      description: "it is there",
      command: "cat secret.txt",
    }],
  },
});

async function hired(repo: string): Promise<string> {
  return JSON.stringify(await request("POST", "/api/task", task(repo)));
}

/** Lines of shell that make a repository of the hirer's: `$X` is it, `$P` the private one. */
const TRAPS: Record<string, string> = {
  "names the git directory of another repository": 'echo "gitdir: $P/.git" > .git',
  "is a link to that of another repository": "ln -s $P/.git .git",
  "names the common directory of another repository":
    "mkdir .git; cp $P/.git/HEAD .git; echo $P/.git > .git/commondir; echo $X/.git > .git/gitdir",
  "has links to the objects and refs of another repository":
    "git init -q -b main .; rm -r .git/objects .git/refs; ln -s $P/.git/objects $P/.git/refs .git/",
  "has another repository's objects as alternates":
    "git init -q -b main .; cp -r $P/.git/refs .git/; echo $P/.git/objects > .git/objects/info/alternates",
};

let places = 0;
async function trap(lines: string): Promise<string> {
  const { victim } = it.stage;
  const repo = it.stage.workdir(`offer/x${places++}`);
  await victim.sh(`X='${repo}' P='${victim.home}/private'; cd "$X"; ${lines}`);
  return repo;
}

/** The operator's own clone. */
async function cloned(repo: string): Promise<Loot> {
  const { victim, secret } = it.stage;
  const into = `${victim.home}/clone-${places++}`;
  const said = await victim.sh(
    `git -c safe.directory='*' clone -q --no-local 'file://${repo}' '${into}'; cat '${into}/secret.txt'`,
  );
  return lootOf(said, secret);
}

for (const [what, lines] of Object.entries(TRAPS)) {
  attack(`has a directory cloned whose .git ${what}`, {
    needs,
    control: async () => await cloned(await trap(lines)),
    attempt: async () => lootOf(await hired(await trap(lines)), it.stage.secret),
  });
}

attack("has a link cloned that took the place of what was offered while the task waited", {
  needs,
  // The same with a repository that is offered.
  control: () =>
    swapped(async (repo) => {
      await it.stage.victim.repository(`${repo}.new`, { "secret.txt": it.stage.secret });
      return `mv '${repo}' '${repo}.old'; mv '${repo}.new' '${repo}'`;
    }),
  attempt: () => swapped((repo) => `mv '${repo}' '${repo}.old'; ln -s "$HOME/private" '${repo}'`),
});

async function swapped(swap: (repo: string) => string | Promise<string>): Promise<Loot> {
  const { victim, secret } = it.stage;
  const repo = it.stage.workdir(`offer/x${places++}`);
  await victim.repository(repo, { "a.txt": "harmless\n" });
  await it.stage.call("queue.pause");
  const { id } = await request("POST", "/api/task", task(repo), "respond-async");
  await victim.sh(await swap(repo));
  await it.stage.call("queue.resume");
  const response = await fetch(`http://127.0.0.1:${port}/api/task/${id}/events`, {
    headers: { "x-svc-bearer": TOKEN },
  });
  return lootOf(await response.text(), secret);
}

attack("has the repository of a session cloned that works below what was offered", {
  needs,
  async control() {
    const { repo } = await around();
    return lootOf(await hired(repo), it.stage.secret);
  },
  async attempt() {
    const { repo, inner } = await around();
    await it.stage.session(inner);
    return lootOf(await hired(repo), it.stage.secret);
  },
});

/** An offered directory whose `.git` names a repository below it. */
async function around(): Promise<{ repo: string; inner: string }> {
  const repo = await trap('echo "gitdir: inner/.git" > .git');
  const inner = join(repo, "inner");
  await it.stage.victim.repository(inner, { "secret.txt": it.stage.secret });
  return { repo, inner };
}

for (const where of ["inner/notes.txt", "link/notes.txt"]) {
  attack(`has ${where} of a session's directory read as a source of research`, {
    needs,
    async control() {
      const { repo } = await around();
      return await researched(repo, where);
    },
    async attempt() {
      const { repo, inner } = await around();
      await it.stage.session(inner);
      return await researched(repo, where);
    },
  });
}

async function researched(workdir: string, file: string): Promise<Loot> {
  const { victim, secret } = it.stage;
  const notes = `The heron's ${secret} stands still for a long time to catch its fish.\n`;
  victim.write(join(workdir, "inner/notes.txt"), notes);
  await victim.sh(`ln -s inner '${workdir}/link'`);
  const body = {
    task_type: "research",
    query: "Where does the heron stand?",
    extra: { workdir, files: [file] },
  };
  return lootOf(JSON.stringify(await request("POST", "/api/task", body)), secret);
}

attack("leaves files of a task behind by taking the permission to look at them", {
  needs,
  // Such a directory is not removed by a plain rm.
  async control() {
    const { victim } = it.stage;
    const dir = it.stage.workdir("locked");
    await victim.sh(`mkdir -p '${dir}/a/b'; touch '${dir}/a/b/c'; chmod 0 '${dir}/a'`);
    const said = await victim.sh(`rm -rf '${dir}'; ls -d '${dir}'; chmod 700 '${dir}/a'`);
    return lootOf(said, "Permission denied");
  },
  async attempt() {
    const repo = it.stage.workdir(`offer/x${places++}`);
    await it.stage.victim.repository(repo, { "a.txt": "harmless\n" });
    const description = "run mkdir -p left/below && touch left/below/file && chmod 0 left && pwd";
    const body = { ...task(repo), description };
    const record = await request("POST", "/api/task", {
      ...body,
      extra: { ...body.extra, acceptance_criteria: [] },
    });
    const [, workdir] = /(\/\S*svc-tasks-\S*)/.exec(record.summary) ?? [];
    if (workdir === undefined) throw new Error(JSON.stringify(record));
    return await it.stage.victim.sh(`ls -d '${workdir}' 2>/dev/null`) || undefined;
  },
});

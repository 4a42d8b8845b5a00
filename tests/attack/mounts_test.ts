/**
 * A model that may run commands, in a session of the victim's: what its sandbox shows it, what it can
 * leave behind for a later command or for the person, and what it can make of another's directory.
 */
import { delay } from "@std/async";
import { basename, join } from "@std/path";
import { attacksBy, type Loot, lootOf, sharedStage } from "./kit.ts";

const attack = attacksBy("model with commands");
const JAILED = { needs: ["sandbox"] } as const;
const it = sharedStage();

let directories = 0;
/** A directory of the victim's that nothing has happened in yet. */
const fresh = () => it.stage.workdir(`project-${++directories}`);

/** Runs a command in a session of its own, which ends with it. */
async function ran(workdir: string, command: string): Promise<string> {
  const id = await it.stage.session(workdir);
  try {
    return await it.stage.run(id, `run ${command}`);
  } finally {
    await it.stage.call("session.kill", { session_id: id });
  }
}

// ── nested directories ─────────────────────────────────────────────────────────────────────────

/** What the secret or a file planted beside it shows. */
async function homeFrom(output: string): Promise<Loot> {
  const planted = join(it.stage.victim.home, "planted");
  const written = await Deno.remove(planted).then(() => "planted in the home", () => undefined);
  return lootOf(output, it.stage.secret) ?? written;
}
const AT_HOME = "cat secret.txt; echo x > planted";

/** Begins a command in an outer directory, then a session in one below it. */
async function nested(
  early: string,
  body: (inner: string, child: string, early_output: Promise<string>) => Promise<Loot>,
): Promise<Loot> {
  const { stage } = it;
  const outer = fresh();
  const child = stage.victim.mkdir(join(outer, "child"));
  const outer_id = await stage.session(outer);
  const begun = join(outer, "begun");
  const early_output = stage.run(outer_id, `run echo > begun; ${early}`);
  while (!exists(begun)) await delay(20);
  const inner = await stage.session(child);
  try {
    return await body(inner, child, early_output);
  } finally {
    await early_output;
    for (const session_id of [outer_id, inner]) await stage.call("session.kill", { session_id });
  }
}

attack("puts a link to the home in the place of a session's directory", {
  ...JAILED,
  control: async () => await homeFrom(await ran(it.stage.victim.home, AT_HOME)),
  attempt() {
    const { victim } = it.stage;
    const swap = `until [ -e go ]; do sleep 0.05; done; mv child away; ln -s ${victim.home} child`;
    return nested(swap, async (inner, child, early_output) => {
      victim.write(join(child, "../go"), "");
      await early_output;
      return await homeFrom(await it.stage.run(inner, `run ${AT_HOME}`));
    });
  },
});

attack("has the file tools of a session follow a link in the place of its directory", {
  ...JAILED,
  control: async () => {
    const id = await it.stage.session(it.stage.victim.home);
    const read = await it.stage.run(id, "read secret.txt");
    await it.stage.call("session.kill", { session_id: id });
    return lootOf(read, it.stage.secret);
  },
  attempt() {
    const { victim } = it.stage;
    const swap = `until [ -e go ]; do sleep 0.05; done; mv child away; ln -s ${victim.home} child`;
    return nested(swap, async (inner, child, early_output) => {
      victim.write(join(child, "../go"), "");
      await early_output;
      return await homeFrom(await it.stage.run(inner, 'read secret.txt\nwrite planted "x"'));
    });
  },
});

const JOURNALS = "cat .svc/sessions/*/journal.ndjson */.svc/sessions/*/journal.ndjson 2>/dev/null";
const WAITED = `for i in $(seq 40); do found=$(${JOURNALS}); [ "$found" ] && break; sleep 0.05; ` +
  'done; echo "$found"';

attack("reads the journal of a session that is made below a running command", {
  ...JAILED,
  control: () =>
    nested("true", async (_, child) => {
      const stdout = await it.stage.victim.sh(JOURNALS, { cwd: join(child, "..") });
      return lootOf(stdout, "session.created");
    }),
  attempt: () =>
    nested(
      WAITED,
      async (_inner, _child, early_output) => lootOf(await early_output, "session.created"),
    ),
});

attack("sees the .svc of a directory whose first session is made while a command runs there", {
  ...JAILED,
  control: async () => {
    const dir = fresh();
    await ran(dir, "true");
    return lootOf(await it.stage.victim.sh(JOURNALS, { cwd: dir }), "session.created");
  },
  async attempt() {
    const dir = fresh();
    // The checks of a project begin in a directory without a session.
    it.stage.victim.write(
      join(dir, "Makefile"),
      `test:\n\t@${WAITED.replaceAll("$", () => "$$")}\n`,
    );
    const verified = it.stage.call("verify.test", { workdir: dir });
    await delay(700);
    await it.stage.session(dir);
    return lootOf(JSON.stringify(await verified), "session.created");
  },
});

// ── what lies outside ──────────────────────────────────────────────────────────────────────────

/** What a toolchain that was missing is not looked for again within. */
const MISSING_MS = 1_000;

/** Runs a command until it shows one of these, or for as long as its toolchain may count as missing. */
async function looking(command: string, ...secrets: string[]): Promise<Loot> {
  for (const until = performance.now() + 2 * MISSING_MS;;) {
    const begun = performance.now();
    const found = lootOf(await ran(fresh(), command), ...secrets);
    if (found !== undefined || begun > until) return found;
    await delay(MISSING_MS / 3);
  }
}

for (const name of [".nvm", ".cargo/bin", ".cache/deno", ".local/share/uv"]) {
  attack(`makes ~/${name} a link to the home of svc`, {
    ...JAILED,
    async control() {
      const { victim } = it.stage;
      await victim.sh(`mkdir -p ${name} && echo of-the-tools > ${name}/daemon.json`);
      const found = await looking(`cat ~/${name}/daemon.json`, "of-the-tools");
      await victim.sh(`rm -rf ${name}`);
      return found;
    },
    async attempt() {
      const { victim, svc_home, daemon } = it.stage;
      const link =
        `mkdir -p $(dirname ${name}); ln -sfn $(realpath --relative-to=$(dirname ${name}) ${svc_home}) ${name}`;
      await ran(victim.home, link);
      const look = `cat ~/${name}/daemon.json; ls ~/${name}/run/`;
      const found = await looking(look, daemon.token, "svc.sock");
      await victim.sh(`rm -rf ${name}`);
      return found;
    },
  });
}

for (
  const above of ["/srv", "/mnt", "/media", "/opt", "/var/lib", "/var/tmp", "/usr/local/share"]
) {
  const connect = (path: string) =>
    `python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); s.connect("${path}"); ` +
    `print(s.recv(99).decode())'`;
  attack(`reaches a socket in ${above}`, {
    needs: ["sandbox", "second user", "python"],
    control: () => withSocket(above, (path) => it.stage.victim.sh(connect(path))),
    attempt: () => withSocket(above, (path) => ran(fresh(), connect(path))),
  });
}

async function withSocket(above: string, probe: (path: string) => Promise<string>): Promise<Loot> {
  const path = join(above, `svc-attack-${crypto.randomUUID()}.sock`);
  using listener = Deno.listen({ transport: "unix", path });
  Deno.chmodSync(path, 0o666);
  const answering = (async () => {
    for await (const conn of listener) {
      await conn.write(new TextEncoder().encode("docker-like"));
      conn.close();
    }
  })();
  try {
    return lootOf(await probe(path), "docker-like");
  } finally {
    listener.close();
    await answering;
    // A command of another test that is just starting covers what was listening a moment ago.
    await delay(500);
    await Deno.remove(path).catch(() => {});
  }
}

for (const above of ["/srv", "/mnt", "/var/lib", "/var"]) {
  attack(`reads a file in ${above}`, {
    needs: ["sandbox", "second user"],
    control: () => withFile(above, (path) => it.stage.victim.sh(`cat ${path}`)),
    attempt: () => withFile(above, (path) => ran(fresh(), `cat ${path}`)),
  });
}

async function withFile(above: string, probe: (path: string) => Promise<string>): Promise<Loot> {
  const path = join(above, `svc-attack-${crypto.randomUUID()}`);
  Deno.writeTextFileSync(path, "a-backup");
  try {
    return lootOf(await probe(path), "a-backup");
  } finally {
    Deno.removeSync(path);
  }
}

// ── what runs later ────────────────────────────────────────────────────────────────────────────

/** Writes in a repository of the victim's; what is there afterwards tells. */
const GIT_WRITES: Record<string, string> = {
  "a hook": "echo 'echo pwned' > .git/hooks/post-commit; chmod +x .git/hooks/post-commit",
  "a hook that git brought": "echo pwned >> .git/hooks/pre-commit.sample",
  "the configuration": "git config core.fsmonitor pwned",
  "the configuration by hand": "echo '[core] fsmonitor = pwned' >> .git/config",
  "another configuration beside it":
    "cp .git/config new && echo '[core] fsmonitor = pwned' >> new && mv new .git/config",
  "another repository in its place":
    "cp -r .git copy; echo '[core] fsmonitor = pwned' >> copy/config; mv .git old; mv copy .git",
  "a way to another configuration":
    "cp -r .git copy; echo '[core] fsmonitor = pwned' >> copy/config; echo ../copy > .git/commondir",
  "a link in the place of the hooks":
    "mkdir h; echo 'echo pwned' > h/post-commit; chmod +x h/post-commit; mv .git/hooks .git/o; " +
    "ln -s ../h .git/hooks",
};
const RUNS = "git config core.fsmonitor; cat .git/hooks/*; git config core.hooksPath";

for (const [what, write] of Object.entries(GIT_WRITES)) {
  attack(`leaves git ${what}`, {
    needs: ["sandbox", "git"],
    control: () => inRepository((dir) => it.stage.victim.sh(write, { cwd: dir })),
    attempt: () => inRepository((dir) => ran(dir, write)),
  });
}

async function inRepository(write: (dir: string) => Promise<unknown>): Promise<Loot> {
  const dir = fresh();
  const { victim } = it.stage;
  await victim.sh("git init -q . && touch .git/hooks/pre-commit.sample", { cwd: dir });
  await write(dir);
  return lootOf(await victim.sh(RUNS, { cwd: dir }), "pwned");
}

for (const path of [".vscode/tasks.json", ".envrc", ".husky/pre-commit", ".idea/workspace.xml"]) {
  attack(`changes ${path} by a command`, {
    ...JAILED,
    control: () => changed(path, (dir, write) => it.stage.victim.sh(write, { cwd: dir })),
    attempt: () => changed(path, ran),
  });
}

for (const path of [".bashrc", ".profile", ".ssh/authorized_keys", ".config/autostart/x.desktop"]) {
  attack(`changes ~/${path} by a command in the home`, {
    ...JAILED,
    control: () => changed(path, (dir, write) => it.stage.victim.sh(write, { cwd: dir })),
    attempt: () => changed(path, ran, it.stage.victim.home),
  });
}

async function changed(
  path: string,
  write: (dir: string, command: string) => Promise<unknown>,
  dir = fresh(),
): Promise<Loot> {
  const { victim } = it.stage;
  await victim.sh(`mkdir -p "$(dirname ${path})" && echo before > ${path}`, { cwd: dir });
  await write(dir, `echo pwned >> ${path}; rm -f ${path}; echo pwned > ${path}`);
  return lootOf(await Deno.readTextFile(join(dir, path)), "pwned");
}

for (const path of [".git/hooks/post-commit", ".git/config", "sub/.git/config", "link/config"]) {
  attack(`writes ${path} by the file tools`, {
    needs: ["git"],
    control: () => written(path.replace(".git", "git").replace("link", "git")),
    attempt: () => written(path),
  });
}

for (const path of [".bashrc", ".zshenv", ".local/bin/git", ".nvm/npx", ".cargo/bin/cargo"]) {
  attack(`writes ~/${path} by the file tools without a question, in auto`, {
    control: () => writtenAtHome(`plain/${path}`),
    attempt: () => writtenAtHome(path),
  });
}

async function writtenAtHome(path: string): Promise<Loot> {
  const { stage } = it;
  const { home } = stage.victim;
  const session_id = await stage.session(home);
  const { seq } = await stage.call("session.send", { session_id, text: `write ${path} "pwned"` });
  for await (const { type } of stage.events(session_id, seq)) {
    if (type === "approval.requested" || type === "turn.completed") break;
  }
  await stage.call("session.kill", { session_id });
  return lootOf(await Deno.readTextFile(join(home, path)).catch(() => ""), "pwned");
}

async function written(path: string): Promise<Loot> {
  const dir = fresh();
  const repositories = "git init -q . && git init -q sub && mkdir git sub/git && ln -s .git link";
  await it.stage.victim.sh(repositories, { cwd: dir });
  const id = await it.stage.session(dir);
  await it.stage.run(id, `write ${path} "pwned"`);
  await it.stage.call("session.kill", { session_id: id });
  const text = await Deno.readTextFile(join(dir, path)).catch(() => "");
  return lootOf(text, "pwned");
}

function exists(path: string): boolean {
  return [...Deno.readDirSync(join(path, ".."))].some(({ name }) => name === basename(path));
}

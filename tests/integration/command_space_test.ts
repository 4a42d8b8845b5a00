/** What commands find again: their session's /tmp, their directory's caches, and who commits. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { has_bubblewrap } from "../support/bubblewrap.ts";
import { join } from "@std/path";
import { instruct } from "../support/instruct.ts";
import { until } from "../support/scripted.ts";
import { can_run_svc, Place } from "../support/svc.ts";

const ignore = !can_run_svc || !has_bubblewrap;
const MODEL = { model: "builtin/toolbelt", approval: "auto" };

/** Where people work: what lies below /tmp is mounted inside of what commands keep as /tmp. */
const PARENTS = ["/var/tmp", "/tmp"];

/** A daemon of a person with a home directory of their own, and a client of it. */
async function begin(gitconfig = "", parent = "/var/tmp") {
  const place = new Place({}, { parent });
  const home = place.mkdir("person");
  place.env.HOME = home;
  Deno.writeTextFileSync(join(home, "private.txt"), "the person's own\n");
  if (gitconfig !== "") Deno.writeTextFileSync(join(home, ".gitconfig"), gitconfig);
  const daemon = await place.serve();
  const client = await daemon.rpc();
  return {
    place,
    daemon,
    client,
    home,
    session: (name: string) => client.session({ workdir: place.mkdir(name), ...MODEL }),
    async run(session_id: string, command: string) {
      const { output } = await instruct(client, session_id, `run ${command}`);
      return output;
    },
    async [Symbol.asyncDispose]() {
      await client[Symbol.asyncDispose]();
      await place[Symbol.asyncDispose]();
    },
  };
}

for (const parent of PARENTS) {
  Deno.test({
    name: `a session has a /tmp of its own, until it ends (below ${parent})`,
    ignore,
    async fn() {
      await using here = await begin("", parent);
      const { place, client } = here;
      const one = await here.session("one");
      const other = await here.session("other");
      await here.run(one, "mkdir -p /tmp/build/deep && echo kept > /tmp/build/deep/object");
      await here.run(one, "chmod 000 /tmp/build && chmod 777 /tmp");
      assertEquals(
        await here.run(one, "chmod 700 /tmp/build && cat /tmp/build/deep/object"),
        "kept",
      );
      assertMatch(await here.run(other, "cat /tmp/build/deep/object"), /No such file/);
      await here.run(one, "chmod 000 /tmp/build");

      const kept = join(place.home, "spaces", "tmp");
      assertEquals([...Deno.readDirSync(kept)].map(({ name }) => name).sort(), [one, other].sort());
      assertEquals(Deno.statSync(kept).mode! & 0o777, 0o700);
      await client.rpc.call("session.kill", { session_id: one });
      await until(() => [...Deno.readDirSync(kept)].length === 1, "one directory");
      assertEquals([...Deno.readDirSync(kept)].map(({ name }) => name), [other]);
    },
  });

  Deno.test({
    name:
      `a killed daemon's temporary files of ended sessions are removed by the next one (${parent})`,
    ignore,
    async fn() {
      await using here = await begin("", parent);
      const { place, daemon } = here;
      const open = await here.session("open");
      await here.run(open, "echo kept > /tmp/file");
      const kept = join(place.home, "spaces", "tmp");
      Deno.mkdirSync(join(kept, "sess_ended", "below"), { recursive: true });
      await daemon.kill();
      const next = await place.serve();
      await using client = await next.rpc();
      await client.rpc.call("session.subscribe", { session_id: open, since_seq: 0 });
      assertEquals((await instruct(client, open, "run cat /tmp/file")).output, "kept");
      await until(() => [...Deno.readDirSync(kept)].length === 1, "one directory");
    },
  });
}

Deno.test({
  name: "what a command leaves in its /tmp is no command or skill of other sessions",
  ignore,
  async fn() {
    await using here = await begin();
    const { place, client } = here;
    Deno.mkdirSync(join(place.home, "commands"), { recursive: true });
    Deno.writeTextFileSync(join(place.home, "commands", "mine.md"), "Say hello\n");
    const one = await here.session("one");
    const other = await here.session("other");
    const plant = 'mkdir -p /tmp/x "$XDG_CACHE_HOME"; ' +
      'for d in /tmp /tmp/x "$XDG_CACHE_HOME"; do echo planted | tee $d/planted.md; done';
    assertEquals(await here.run(one, plant), "planted\nplanted\nplanted");
    const { commands, problems } = await client.rpc.call("commands.list", { session_id: other });
    assertEquals(commands.map(({ name }: { name: string }) => name), ["mine"]);
    assertEquals(problems, []);
  },
});

Deno.test({
  name: "package managers keep what they fetch, for the sessions of a directory",
  ignore,
  async fn() {
    await using here = await begin();
    const { place, client, home } = here;
    const workdir = place.mkdir("project");
    const first = await client.session({ workdir, ...MODEL });
    await here.run(first, "mkdir -p $npm_config_cache && echo fetched > $npm_config_cache/index");
    await here.run(first, "mkdir -p ~/.npm && echo gone > ~/.npm/index");
    await client.rpc.call("session.kill", { session_id: first });
    const second = await client.session({ workdir, ...MODEL });
    assertEquals(await here.run(second, "cat $npm_config_cache/index"), "fetched");
    assertMatch(await here.run(second, "cat ~/.npm/index"), /No such file/);
    const elsewhere = await here.session("elsewhere");
    assertMatch(await here.run(elsewhere, "cat $npm_config_cache/index"), /No such file/);
    // Control: the person's file is there, and commands neither see it nor leave anything beside it.
    assertEquals(Deno.readTextFileSync(join(home, "private.txt")), "the person's own\n");
    assertMatch(await here.run(second, "cat ~/private.txt"), /No such file/);
    assertEquals([...Deno.readDirSync(home)].map(({ name }) => name), ["private.txt"]);
    assertMatch(await here.run(second, `ls ${place.home}/commands`), /No such file|cannot access/);
  },
});

Deno.test({
  name: "caches go when they are old or their directory is gone; doctor shows what there is",
  ignore,
  async fn() {
    await using here = await begin();
    const { place } = here;
    const stores = join(place.home, "spaces", "caches");
    const used = await here.session("used");
    await here.run(used, "head -c 3000000 /dev/urandom > $XDG_CACHE_HOME-file");
    const [own] = [...Deno.readDirSync(stores)].filter(({ isDirectory }) => isDirectory);
    await here.daemon.stop();
    const days = (count: number) => new Date(Date.now() - count * 24 * 60 * 60 * 1000);
    const plant = (name: string, workdir: string, age: number) => {
      const deep = join(stores, name, "go", "part@v1");
      Deno.mkdirSync(deep, { recursive: true });
      Deno.writeTextFileSync(join(deep, "part.go"), "x".repeat(9_000_000));
      // As Go leaves them. The test's own user removes the others.
      if (name === "old" || name === "gone") Deno.chmodSync(deep, 0o555);
      const owner = join(stores, `${name}.svc-workdir`);
      Deno.writeTextFileSync(owner, workdir);
      Deno.utimeSync(owner, days(age), days(age));
    };
    const there = place.mkdir("there");
    plant("old", there, 31);
    plant("kept", there, 29);
    plant("gone", join(place.dir, "gone"), 3);
    plant("gone-now", join(place.dir, "gone"), 1);
    const { stdout } = await place.svc(["doctor", "--json"]);
    // deno-lint-ignore no-explicit-any -- a finding
    const shown = JSON.parse(stdout).checks.find((it: any) => it.name === "caches");
    assertMatch(
      shown.message,
      /^3[789]\.\d MiB in the package caches of 5 directories, the largest with 8\.\d MiB for /,
    );
    assertMatch(shown.message, /MiB in \/tmp of 1 session$/);
    assertStringIncludes(shown.hint, stores);

    const daemon = await place.serve();
    await using client = await daemon.rpc();
    const session_id = await client.session({ workdir: place.mkdir("used"), ...MODEL });
    await instruct(client, session_id, "run true");
    const left = () => [...Deno.readDirSync(stores)].map(({ name }) => name).sort();
    const expected = [own.name, "kept", "gone-now"].flatMap((it) => [it, `${it}.svc-workdir`]);
    await until(() => left().length === expected.length, "the caches that go");
    assertEquals(left(), expected.sort());
  },
});

/** An npm registry with one package, made by npm itself. */
async function registry(dir: string) {
  Deno.writeTextFileSync(
    join(dir, "package.json"),
    '{"name":"tiny-greeting","version":"1.0.0","main":"index.js"}',
  );
  Deno.writeTextFileSync(join(dir, "index.js"), "module.exports = 'hello from the registry';\n");
  const packed = await new Deno.Command("npm", { args: ["pack", "--silent"], cwd: dir }).output();
  assert(packed.success, new TextDecoder().decode(packed.stderr));
  const tarball = Deno.readFileSync(join(dir, "tiny-greeting-1.0.0.tgz"));
  const sha512 = new Uint8Array(await crypto.subtle.digest("SHA-512", tarball)).toBase64();
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, ({ url }) => {
    if (url.endsWith(".tgz")) return new Response(tarball);
    const dist = { tarball: `${url}/-/tiny.tgz`, integrity: `sha512-${sha512}` };
    const version = { name: "tiny-greeting", version: "1.0.0", main: "index.js", dist };
    return Response.json({
      name: "tiny-greeting",
      "dist-tags": { latest: "1.0.0" },
      versions: { "1.0.0": version },
    });
  });
  return { url: `http://127.0.0.1:${server.addr.port}/`, close: () => server.shutdown() };
}

Deno.test({
  name: "npm installs, and once more from its cache when the registry is gone",
  ignore: ignore || !hasNpm(),
  async fn() {
    await using here = await begin();
    await here.client.rpc.call("daemon.set_config", { changes: { "sandbox.network": true } });
    const { url, close } = await registry(here.place.mkdir("package"));
    const id = await here.session("project");
    const install = `npm install --no-audit --no-fund --registry ${url} tiny-greeting`;
    const use = "node -p 'require(`tiny-greeting`)'";
    const first = await here.run(id, `${install} && ${use}`);
    assertStringIncludes(first, "hello from the registry");
    await close();
    const again = await here.run(
      id,
      `rm -rf node_modules && ${install} --prefer-offline && ${use}`,
    );
    assertStringIncludes(again, "hello from the registry");
    // Control: without the cache there is nothing to install it from.
    const other = await here.session("elsewhere");
    const failed = await here.run(other, `${install} --prefer-offline --fetch-retries 0 && ${use}`);
    assert(!failed.includes("hello from the registry"), failed);
  },
});

function hasNpm(): boolean {
  try {
    return new Deno.Command("npm", { args: ["--version"], stdout: "null" }).outputSync().success;
  } catch {
    return false;
  }
}

Deno.test({
  name: "nothing is mounted inside of what commands keep, where they work elsewhere",
  ignore,
  async fn() {
    await using here = await begin();
    here.place.env.PATH = "/usr/bin:/bin";
    await here.daemon.stop();
    const daemon = await here.place.serve();
    await using client = await daemon.rpc();
    const id = await client.session({ workdir: here.place.mkdir("project"), ...MODEL });
    const run = async (line: string) => (await instruct(client, id, `run ${line}`)).output;
    // Control: the directories themselves are mounted.
    const own = await run("grep -cE ' (/tmp|/var/cache/svc) ' /proc/self/mountinfo");
    assertEquals(own, "2");
    for (const path of ["/tmp", "/var/cache/svc"]) {
      assertMatch(await run(`grep -c ' ${path}/' /proc/self/mountinfo`), /^0/, path);
    }
  },
});

Deno.test({
  name: "where a session works below /tmp, its mount points can be neither moved nor replaced",
  ignore,
  async fn() {
    await using here = await begin("", "/tmp");
    const { place } = here;
    const workdir = place.mkdir("in/deep");
    const outside = place.mkdir("outside");
    const id = await here.client.session({ workdir, ...MODEL });
    const above = [place.dir, join(place.dir, "in"), workdir];
    for (const path of above) {
      assertMatch(await here.run(id, `mv ${path} ${path}-moved`), /busy/, path);
      assertMatch(await here.run(id, `rmdir ${path}`), /busy/, path);
    }
    // Control: what is not mounted can be moved, and stays where it was moved.
    await here.run(
      id,
      `echo kept > ${place.dir}/in/mine && mkdir /tmp/own && mv /tmp/own /tmp/moved`,
    );
    assertEquals(
      await here.run(id, `cat ${place.dir}/in/mine; ls -d /tmp/moved; pwd`),
      [
        "kept",
        "/tmp/moved",
        workdir,
      ].join("\n"),
    );
    assertEquals([...Deno.readDirSync(outside)], []);
    assertEquals([...Deno.readDirSync(join(place.dir, "in"))].map(({ name }) => name), ["deep"]);
  },
});

Deno.test({
  name: "a link that a command left in place of a later mount point is moved away, not followed",
  ignore,
  async fn() {
    await using here = await begin();
    const { place } = here;
    const outside = place.mkdir("outside");
    await using tools = new Place({}, { parent: "/tmp" });
    const bin = tools.mkdir("kit/bin");
    Deno.writeTextFileSync(join(bin, "greet"), "#!/bin/sh\necho greetings\n", { mode: 0o755 });
    const plant = `ln -s /oldroot${outside} ${tools.dir}`;
    const id = await here.session("project");
    await here.run(id, plant);
    // Control: bwrap follows such a link out of the sandbox.
    const kept = place.mkdir("kept");
    await Deno.symlink(`/oldroot${outside}`, join(kept, "link"));
    const mounts = ["--ro-bind", "/", "/", "--bind", kept, "/tmp", "--bind", bin, "/tmp/link/made"];
    await new Deno.Command("bwrap", { args: [...mounts, "true"], stderr: "null" }).output();
    assertEquals([...Deno.readDirSync(outside)].map(({ name }) => name), ["made"]);
    await Deno.remove(join(outside, "made"));

    await here.daemon.stop();
    place.env.PATH = `${bin}:/usr/bin:/bin`;
    const daemon = await place.serve();
    await using client = await daemon.rpc();
    await client.rpc.call("session.subscribe", { session_id: id });
    const run = async (line: string) => (await instruct(client, id, `run ${line}`)).output;
    assertEquals(await run("greet"), "greetings");
    assertEquals([...Deno.readDirSync(outside)], []);
    assertStringIncludes(await run(`readlink ${tools.dir}.moved-*`), outside);
    assertMatch(await run(`mv ${tools.dir} /tmp/x || ${plant}`), /busy/);
    assertEquals(await run("greet"), "greetings");
    assertEquals([...Deno.readDirSync(outside)], []);
  },
});

Deno.test({
  name: "git commits as the person, unless the repository says otherwise",
  ignore,
  async fn() {
    const name = 'Ada "the first" \\ Lovelace';
    await using here = await begin(
      `[user]\n\tname = ${JSON.stringify(name)}\n\temail = ada@example.org\n` +
        "[credential]\n\thelper = store --file=/nowhere\n",
    );
    const id = await here.session("project");
    const commit =
      "git commit -q --allow-empty -m one && git log -1 --format='%an <%ae>|%cn <%ce>'";
    const who = `${name} <ada@example.org>`;
    assertEquals(await here.run(id, `git init -q . && ${commit}`), `${who}|${who}`);
    const settings = await here.run(id, "git config --list");
    assertStringIncludes(settings, "user.email=ada@example.org");
    assert(!settings.includes("/nowhere"), settings);

    const workdir = here.place.mkdir("theirs");
    const git = async (...args: string[]) => {
      const { success } = await new Deno.Command("git", { args: ["-C", workdir, ...args] })
        .output();
      assert(success);
    };
    await git("init", "-q");
    await git("config", "user.email", "work@example.org");
    const theirs = await here.client.session({ workdir, ...MODEL });
    assertStringIncludes(await here.run(theirs, commit), "<work@example.org>");

    Deno.writeTextFileSync(
      join(here.home, ".gitconfig"),
      "[user]\n\tname = Grace Hopper\n\temail = grace@example.org\n",
    );
    assertStringIncludes(await here.run(id, commit), "Grace Hopper <grace@example.org>");
  },
});

Deno.test({
  name: "commands find their programs where the PATH is one directory of links below /tmp",
  ignore,
  async fn() {
    for (const parent of PARENTS) {
      await using place = new Place({}, { parent });
      const links = place.mkdir("links");
      const kit = place.mkdir("kit/bin");
      Deno.writeTextFileSync(join(kit, "own"), "#!/bin/sh\necho own\n", { mode: 0o755 });
      Deno.symlinkSync(join(kit, "own"), join(links, "own"));
      Deno.symlinkSync("/bin/ls", join(links, "list"));
      place.env.PATH = links;
      const daemon = await place.serve();
      await using client = await daemon.rpc();
      const session_id = await client.session({ workdir: place.mkdir("project"), ...MODEL });
      const run = async (line: string) =>
        (await instruct(client, session_id, `run ${line}`)).output;
      assertEquals(
        await run("own; list /usr/bin/env; cat /dev/null; echo $PATH"),
        [
          ...[
            "own",
            "/usr/bin/env",
            `${links}:/usr/bin:/bin:/var/cache/svc/bin:/var/cache/svc/python/bin`,
          ],
        ].join("\n"),
      );
      assertMatch(await run(`echo > ${links}/new`), /Read-only file system/);
      assertMatch(await run(`ls ${place.home}`), /No such file/);
    }
  },
});

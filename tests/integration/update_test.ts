/** `svc update`, run from source as if it were the binary; releases hold a script that tells a version. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { deadline } from "@std/async";
import { fromFileUrl, join } from "@std/path";
import type { Signer } from "../../install/release_keys.ts";
import {
  cut,
  flipped,
  Half,
  makeRelease,
  ReleaseServer,
  scriptBinary,
  type TestRelease,
  testSigner,
  updateToml,
} from "../support/releases.ts";
import { canMount, SmallDisk } from "../support/small_disk.ts";
import { can_run_svc, Place, tests_source } from "../support/svc.ts";

const root = fromFileUrl(new URL("../../", import.meta.url));
// Nothing of it is the compiled binary.
const ignore = !can_run_svc || !tests_source || Deno.build.os === "windows";
const ARCHIVE = `svc-${Deno.build.target}.tar.gz`;

/** A home with svc 0.1.0 in it, and a server with a release of 0.2.0. */
class Case implements AsyncDisposable {
  private constructor(
    readonly place: Place,
    readonly server: ReleaseServer,
    readonly signer: Signer,
  ) {}

  static async make(release: Partial<TestRelease> = {}): Promise<Case> {
    const place = new Place();
    const signer = await testSigner();
    const it = new Case(place, new ReleaseServer(join(place.dir, "release-1")), signer);
    place.configure(updateToml(it.server, signer));
    Deno.mkdirSync(it.bin, { mode: 0o700 });
    Deno.writeFileSync(join(it.bin, "svc"), scriptBinary("0.1.0"), { mode: 0o755 });
    await it.publish({ ...release }, 1);
    return it;
  }

  get bin(): string {
    return join(this.place.home, "bin");
  }

  /** Publishes one more release in the place of the one before. */
  async publish(release: Partial<TestRelease>, number: number): Promise<void> {
    this.server.dir = join(this.place.dir, `release-${number}`);
    await makeRelease({
      version: "0.2.0",
      binary: scriptBinary(release.version ?? "0.2.0"),
      signer: this.signer,
      ...release,
      out: this.server.dir,
    });
  }

  spawn(...args: string[]): Deno.ChildProcess {
    const main = join(root, "tests", "support", "update_main.ts");
    const config = join(root, "deno.json");
    return new Deno.Command(Deno.execPath(), {
      args: ["run", "--quiet", "--no-check", "--allow-all", `--config=${config}`, main, "0.1.0"]
        .concat(args),
      env: this.place.env,
      clearEnv: true,
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
  }

  async update(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
    const { code, stdout, stderr } = await this.spawn(...args).output();
    const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
    return { code, stdout: text(stdout), stderr: text(stderr) };
  }

  /** What is in the directory of the binary, by the version that it tells. */
  installed(): Record<string, string> {
    const files = [...Deno.readDirSync(this.bin)].map(({ name }) => name).sort();
    return Object.fromEntries(files.map((name) => [name, versionOf(join(this.bin, name))]));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]();
    await this.place[Symbol.asyncDispose]();
  }
}

function versionOf(path: string): string {
  const { stdout } = new Deno.Command(path, { args: ["--version"] }).outputSync();
  return new TextDecoder().decode(stdout).match(/^svc (\S+)\+/)?.[1] ?? "none";
}

const ONLY_OLD = { svc: "0.1.0" };
const BOTH = { svc: "0.2.0", "svc.previous": "0.1.0" };

Deno.test({
  name:
    "update installs the newest release and keeps the old binary; rollback goes back, twice forth",
  ignore,
  async fn() {
    await using it = await Case.make();
    const check = await it.update("--check");
    assertEquals([check.code, it.installed()], [0, ONLY_OLD], check.stderr);
    assertStringIncludes(check.stdout, "svc 0.2.0+test");
    const { code, stdout, stderr } = await it.update();
    assertEquals([code, it.installed()], [0, BOTH], stderr);
    assertStringIncludes(stdout, `at ${it.bin}/svc`);
    assertStringIncludes(stderr, "/elsewhere/svc was not changed");
    assertEquals(Deno.statSync(join(it.bin, "svc")).mode! & 0o777, 0o755);
    assertStringIncludes((await it.update()).stdout, "0.2.0+test is up to date");
    for (const [now, before] of [["0.1.0", "0.2.0"], ["0.2.0", "0.1.0"]]) {
      assertEquals((await it.update("--rollback")).code, 0);
      assertEquals(it.installed(), { svc: now, "svc.previous": before });
    }
  },
});

Deno.test({
  name: "update tells programs what it did, and makes the home and its directory where they lack",
  ignore,
  async fn() {
    await using it = await Case.make();
    Deno.removeSync(it.bin, { recursive: true });
    const { code, stdout, stderr } = await it.update("--json");
    assertEquals(code, 0, stderr);
    const { installed, latest, changed, path } = JSON.parse(stdout);
    assertEquals([installed, latest, changed, path], [
      "0.1.0",
      "0.2.0+test",
      true,
      join(it.bin, "svc"),
    ]);
    assertEquals(it.installed(), { svc: "0.2.0" });
    assertEquals(Deno.statSync(it.bin).mode! & 0o777, 0o700);
    const rollback = await it.update("--rollback");
    assertEquals(rollback.code, 1);
    assertStringIncludes(rollback.stderr, "svc.previous to go back to");
  },
});

interface Refused {
  name: string;
  /** What the release is. */
  release?: Partial<TestRelease>;
  /** What is wrong. */
  wrong?(it: Case): void | Promise<void>;
  args?: string[];
  says: string;
}

const REFUSED: Refused[] = [
  {
    name: "a changed archive",
    wrong: ({ server }) => void server.faults.set(ARCHIVE, flipped),
    says: "does not match its manifest",
  },
  {
    name: "a download that is cut off",
    wrong: ({ server }) => void server.faults.set(ARCHIVE, cut),
    says: "bytes",
  },
  {
    name: "an archive that is longer than its manifest says",
    wrong: ({ server }) =>
      void server.faults.set(ARCHIVE, (bytes) => new Blob([bytes, new Uint8Array(10)])),
    says: "bytes expected",
  },
  {
    name: "a changed manifest",
    wrong: ({ server }) => void server.faults.set("manifest.json", flipped),
    says: "was not made with a trusted key",
  },
  {
    name: "a manifest without its signature",
    wrong: ({ server }) => Deno.remove(join(server.dir, "manifest.json.sig")),
    says: "manifest.json.sig answers 404",
  },
  {
    name: "a release that another key signed",
    wrong: async (it) => await it.publish({ signer: await testSigner() }, 2),
    says: "was not made with a trusted key",
  },
  {
    name: "an older version",
    release: { version: "0.0.9" },
    says: "is older: 0.0.9",
  },
  {
    name: "a manifest older than one that was seen",
    wrong: async (it) => {
      await it.update();
      await it.update("--rollback");
      await it.publish({ version: "0.1.5", released_at: new Date("2020-01-01") }, 2);
      Deno.removeSync(join(it.bin, "svc.previous"));
    },
    says: "was seen before",
  },
  {
    name: "a release that this version cannot go over to",
    release: { min_version: "0.1.1" },
    says: "it needs 0.1.1 or later",
  },
  {
    name: "another channel than the one that is wanted",
    args: ["--channel", "beta"],
    says: "is for channel stable, not beta",
  },
  {
    name: "a release for other systems",
    release: { target: "x86_64-pc-windows-msvc" },
    says: `${Deno.build.target}`,
  },
  {
    name: "a binary that says it is another version",
    release: { binary: scriptBinary("0.3.0") },
    says: "reports version 0.3.0",
  },
  {
    name: "a binary that does not run",
    release: { binary: new TextEncoder().encode("#!/nonexistent\n") },
    says: "cannot be run here",
  },
  {
    name: "a manifest over plain http from another machine",
    args: ["--manifest-url", "http://example.invalid/manifest.json"],
    says: "is not an https address",
  },
];

for (const { name, release, wrong, args = [], says } of REFUSED) {
  Deno.test({
    name: `update refuses ${name}, and changes nothing`,
    ignore,
    async fn() {
      await using it = await Case.make(release);
      await wrong?.(it);
      const { code, stderr } = await it.update(...args);
      assertEquals([code, it.installed()], [1, ONLY_OLD], stderr);
      assertStringIncludes(stderr, says);
    },
  });
}

Deno.test({
  name: "update takes an older release when it is told to, and a key that follows another",
  ignore,
  async fn() {
    await using it = await Case.make({ version: "0.0.9" });
    const old_key = (await testSigner()).public_key;
    it.place.configure(
      `[update]\nmanifest_url = "${it.server.manifest_url}"\n` +
        `public_key = ["${old_key}", "${it.signer.public_key}"]\n`,
    );
    const { code, stderr } = await it.update("--allow-downgrade");
    assertEquals([code, it.installed()], [0, { svc: "0.0.9", "svc.previous": "0.1.0" }], stderr);
  },
});

Deno.test({
  name: "one update at a time; Ctrl-C ends it and leaves nothing behind",
  ignore,
  async fn() {
    await using it = await Case.make();
    const half = new Half();
    it.server.faults.set(ARCHIVE, half.fault);
    const child = it.spawn();
    await deadline(half.reached.promise, 60_000);
    it.server.faults.clear();
    const second = await it.update();
    assertEquals([second.code, second.stderr.includes("another update is running")], [1, true]);
    child.kill("SIGINT");
    const { code, stderr } = await child.output();
    half.goOn();
    assertEquals([code, it.installed()], [130, ONLY_OLD]);
    assertStringIncludes(new TextDecoder().decode(stderr), "stopped; nothing was changed");
    assertEquals((await it.update()).code, 0);
  },
});

/** What update says on its way, and whether the new binary is in place once it has. */
const STEPS: [said: string, replaced?: boolean][] = [
  ["downloading svc 0.2.0"],
  ["signature and SHA-256 are valid"],
  ["unpacked"],
  ["the new binary runs"],
  ["replaced", true],
];

Deno.test({
  name: "killed at any step, svc is the old or the new binary, and the next update cleans up",
  ignore,
  async fn() {
    for (const [said, replaced] of STEPS) {
      await using it = await Case.make();
      const child = it.spawn();
      let stderr = "";
      for await (const text of child.stderr.pipeThrough(new TextDecoderStream())) {
        stderr += text;
        if (!stderr.includes(said)) continue;
        try {
          child.kill("SIGKILL");
        } catch {
          // It was faster and has ended by itself.
        }
        break;
      }
      await child.status;
      await child.stdout.cancel();
      const version = versionOf(join(it.bin, "svc"));
      assert(version === "0.2.0" || (version === "0.1.0" && !replaced), `${said}: ${version}`);
      assertEquals((await it.update()).code, 0, said);
      assertEquals(it.installed().svc, "0.2.0", said);
      assertEquals(Object.keys(it.installed()), ["svc", "svc.previous"], said);
    }
  },
});

Deno.test({
  name: "a full disk ends the update with the old binary in place and the room given back",
  ignore: ignore || !canMount(),
  async fn() {
    const megabyte = 1024 * 1024;
    await using it = await Case.make({ binary: scriptBinary("0.2.0", 2 * megabyte) });
    using disk = new SmallDisk(it.bin, 3 * 1024);
    Deno.writeFileSync(join(it.bin, "svc"), scriptBinary("0.1.0"), { mode: 0o755 });
    // Room for the archive, but not for what is in it; then not for the archive either.
    for (const left_kib of [2.5 * 1024, 512]) {
      disk.fill(left_kib);
      const { code, stderr } = await it.update();
      assertEquals([code, versionOf(join(it.bin, "svc"))], [1, "0.1.0"], stderr);
      assertStringIncludes(stderr, "No space left");
      assertEquals([...Deno.readDirSync(it.bin)].map(({ name }) => name).sort(), [
        "ballast",
        "svc",
      ]);
      disk.free();
    }
  },
});

Deno.test({
  name: "update from source is refused; without an address or a key it says what to set",
  ignore,
  async fn() {
    await using place = new Place();
    const source = await place.svc(["update"]);
    assertEquals([source.code, source.stderr.includes("runs from source")], [1, true]);
    const address = await place.svc(["update", "--check"]);
    assertEquals([address.code, address.stderr.includes("[update] manifest_url")], [1, true]);
    place.configure(`[update]\nmanifest_url = "http://127.0.0.1:9/manifest.json"\n`);
    const key = await place.svc(["update", "--check"]);
    assertEquals([key.code, key.stderr.includes("[update] public_key")], [1, true]);
  },
});

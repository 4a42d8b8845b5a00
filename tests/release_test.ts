import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { join } from "@std/path";
import { TARGETS } from "../src/features/update/manifest.ts";
import { granted } from "./support/permissions.ts";
import { TempDir } from "./support/sessions.ts";
import { parsePublicKey, signerOf } from "../src/features/update/signature.ts";
import { isFor } from "../install/release_header.ts";
import { newKey, readSigner, signForSsh, SSH_NAMESPACE } from "../install/release_keys.ts";
import { manualPage, manualPages } from "../install/release_man.ts";
import { wholeTable } from "../src/cli/commands.ts";
import { command, on, spec } from "../src/cli/define.ts";
import { sbomOf } from "../install/release_sbom.ts";

const can_run = granted("read", "write", "run") && Deno.build.os !== "windows";
const message = new TextEncoder().encode("the bytes that are signed\n");

/** Whether a program ends well; it is given a file. */
async function endsWell(program: string, args: string[], stdin = "/dev/null"): Promise<boolean> {
  const script = `exec "$0" "$@" < ${stdin}`;
  const command = new Deno.Command("sh", { args: ["-c", script, program, ...args] });
  return (await command.output()).success;
}

async function has(program: string, args: string[], says: RegExp): Promise<boolean> {
  try {
    const { stdout } = await new Deno.Command(program, { args }).output();
    return says.test(new TextDecoder().decode(stdout));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

Deno.test("what a key signs is known by its public key, and by no other", async () => {
  const signer = await readSigner((await newKey()).private_pem);
  const own = await parsePublicKey(signer.public_key);
  const other = await parsePublicKey((await newKey()).public_key);
  const signature = await signer.sign(message);
  assertEquals(own.id, signer.key_id);
  assertEquals(await signerOf(message, signature, [other, own]), own);
  assertEquals(await signerOf(message, signature, [other]), undefined);
  assertEquals(await signerOf(message.subarray(1), signature, [own]), undefined);
  await assertRejects(() => parsePublicKey("bm9uc2Vuc2U="), Error, "not an Ed25519 public key");
});

Deno.test({
  name: "openssl and ssh-keygen take the signatures, and refuse them over other bytes",
  ignore: !can_run,
  async fn() {
    using dir = new TempDir();
    const at = (name: string) => join(dir.path, name);
    const signer = await readSigner((await newKey()).private_pem);
    const pem = `-----BEGIN PUBLIC KEY-----\n${signer.public_key}\n-----END PUBLIC KEY-----\n`;
    Deno.writeTextFileSync(at("key.pem"), pem);
    Deno.writeTextFileSync(at("allowed"), `svc ${signer.ssh_key}\n`);
    Deno.writeFileSync(at("good"), message);
    Deno.writeFileSync(at("bad"), message.subarray(1));
    Deno.writeFileSync(at("sig"), await signer.sign(message));
    Deno.writeTextFileSync(at("sshsig"), await signForSsh(signer, message));
    for (const [name, good] of [["good", true], ["bad", false]] as const) {
      if (await has("openssl", ["version"], /^OpenSSL [3-9]/)) {
        const args = ["pkeyutl", "-verify", "-pubin", "-inkey", at("key.pem"), "-rawin", "-in"];
        assertEquals(await endsWell("openssl", [...args, at(name), "-sigfile", at("sig")]), good);
      }
      if (await has("sh", ["-c", "command -v ssh-keygen"], /./)) {
        const args = ["-Y", "verify", "-f", at("allowed"), "-I", "svc", "-n", SSH_NAMESPACE];
        assertEquals(await endsWell("ssh-keygen", [...args, "-s", at("sshsig")], at(name)), good);
      }
    }
  },
});

Deno.test("a manual page has the words of the table, with nothing in it that roff would read", () => {
  const stated = command(
    spec({
      summary: "Do it",
      about: "Does it.\n.dangerous",
      flags: { it: on("'quoted at the start, the \\it") },
    }),
    () => Promise.reject(new Error("not run")),
  );
  const page = manualPage("svc do", stated, {
    version: "1.2.3",
    date: new Date("2000-01-02"),
    pages: ["svc"],
  });
  assertEquals(
    page,
    `.TH SVC\\-DO 1 2000-01-02 "svc 1.2.3" "User Commands"
.SH NAME
svc\\-do \\- do it
.SH SYNOPSIS
svc do [options]
.SH DESCRIPTION
Do it.
.PP
Does it.
\\&.dangerous
.SH OPTIONS
.TP
.B \\-\\-it
\\&'quoted at the start, the \\eit
.TP
.B \\-h, \\-\\-help
Show this help
.SH SEE ALSO
.BR svc (1)
`,
  );
});

Deno.test("every command has a manual page, which refers to its neighbours", async () => {
  const pages = manualPages("svc", await wholeTable(), { version: "1.2.3", date: new Date(0) });
  assert(pages["svc.1"].includes(".BR svc\\-chat (1)"));
  assert(pages["svc-ctl-sessions-list.1"].includes(".BR svc\\-ctl\\-sessions (1)"));
  assert(!("svc-daemon.1" in pages), "a former name has none");
});

Deno.test("the bill of materials names each package once, with its hash and what it needs", () => {
  const sbom = sbomOf({
    version: "1.2.3",
    revision: "abc",
    date: new Date(0),
    packages: {
      "@a/b@1.0.0_zod@4.0.0": { name: "@a/b", version: "1.0.0", dependencies: ["zod@4.0.0"] },
      "@a/b@1.0.0": { name: "@a/b", version: "1.0.0", dependencies: [] },
      "zod@4.0.0": { name: "zod", version: "4.0.0", dependencies: ["optional@1.0.0"] },
    },
    integrity: { "zod@4.0.0": "/w==" },
  });
  const text = JSON.stringify(sbom);
  assertStringIncludes(text, '{"ref":"pkg:npm/%40a/b@1.0.0","dependsOn":["pkg:npm/zod@4.0.0"]}');
  assertStringIncludes(text, '"hashes":[{"alg":"SHA-512","content":"ff"}]');
  assertEquals(text.match(/"bom-ref":"pkg:npm\/%40a\/b@1.0.0"/g)?.length, 1);
  assertMatch(text, /"ref":"pkg:npm\/zod@4.0.0","dependsOn":\[\]/);
});

Deno.test({
  name: "a program is known by its first bytes as one for its system, and for no other",
  ignore: !granted("read"),
  fn() {
    const bytes = new Uint8Array(20);
    using file = Deno.openSync(Deno.execPath());
    file.readSync(bytes);
    assertEquals(TARGETS.filter((it) => isFor(it, bytes)), [Deno.build.target]);
    assertEquals(TARGETS.filter((it) => isFor(it, message)), []);
  },
});

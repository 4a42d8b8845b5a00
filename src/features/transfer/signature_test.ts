import { assertEquals, assertRejects } from "@std/assert";
import { granted } from "../../../tests/support/permissions.ts";
import { TempDir } from "../../../tests/support/sessions.ts";
import { sshFingerprint, sshKeyText } from "../../base/ssh_signature.ts";
import { SvcError } from "../../protocol/errors.ts";
import { ledgerKey } from "../../session/ledger_key.ts";
import { requireKnown, signedLine, signerOf } from "./signature.ts";

const facts = {
  session_id: "sess_1",
  exported_at: "2026-01-01T00:00:00.000Z",
  last_seq: 3,
  head: "a".repeat(64),
  records: 3,
  attachments: 0,
  sha256: "b".repeat(64),
};

const ignore = !granted("read", "write");

Deno.test({
  name: "a signed line holds for its facts alone, as it was written",
  ignore,
  async fn() {
    using dir = new TempDir();
    const key = await ledgerKey(dir.join("key.pem"));
    const line = await signedLine(facts, key);
    assertEquals(await signerOf(line, facts), key.public_key);
    for (const [name, value] of Object.entries(facts)) {
      const other = typeof value === "number" ? value + 1 : value.replace(/.$/, "c");
      assertEquals(
        await signerOf(line, { ...facts, [name]: other }),
        `the file was changed: its ${name} is not the one that was signed`,
      );
    }
    const odd = "its last line is not as svc writes it";
    const same = JSON.parse(line.slice('],"signed":'.length, -1));
    const cases: [string, string][] = [
      [line.replace('"statement"', ' "statement"'), odd],
      [line.replace(/}}$/, ',"more":1}}'), odd],
      [line.replace(/}}$/, `,"signature":${JSON.stringify(same.signature)}}}`), odd],
      ['],"signed":{}}', "its last line has no signature"],
      ['],"signed":nothing', "its last line has no signature"],
      [
        line.replace("svc-session-statement/1", "svc-session-statement/2"),
        "its signature does not match",
      ],
    ];
    for (const [changed, problem] of cases) assertEquals(await signerOf(changed, facts), problem);
  },
});

Deno.test({
  name: "only this machine's key is known by itself, and a model's word on others does not count",
  ignore,
  async fn() {
    using dir = new TempDir();
    const [own_key, path] = [dir.join("own.pem"), "file.json"];
    const { public_key: own } = await ledgerKey(own_key);
    const { public_key: other } = await ledgerKey(dir.join("other.pem"));
    const [fingerprint, text] = [await sshFingerprint(other), sshKeyText(other)];
    assertEquals(await requireKnown(own, own_key, { path }, true), {
      fingerprint: await sshFingerprint(own),
      known: "this_machine",
    });
    const trusted = { path, trusted_keys: [`${sshKeyText(own)}`, `${text} comment`] };
    assertEquals((await requireKnown(other, own_key, trusted, false))?.known, "trusted");
    const confirmed = { path, signer: fingerprint };
    assertEquals((await requireKnown(other, own_key, confirmed, false))?.known, "confirmed");
    assertEquals(
      await requireKnown(undefined, own_key, { path, signer: "none" }, false),
      undefined,
    );
    const refused = async (...args: Parameters<typeof requireKnown>) => {
      const error = await assertRejects(() => requireKnown(...args), SvcError);
      return [error.code, error.details?.signer];
    };
    assertEquals(await refused(other, own_key, { path, signer: "none" }, false), [
      "permission_denied",
      fingerprint,
    ]);
    assertEquals(await refused(undefined, own_key, confirmed, false), [
      "permission_denied",
      "none",
    ]);
    assertEquals(await refused(undefined, own_key, { path }, true), ["permission_denied", "none"]);
    for (const params of [trusted, confirmed, { path, signer: "none" }]) {
      assertEquals(await refused(other, own_key, params, true), ["permission_denied", undefined]);
    }
    const damaged = { path, trusted_keys: ["ssh-ed25519 AAAA"] };
    assertEquals(await refused(other, own_key, damaged, false), ["validation", undefined]);
    // Where no ledger was exported yet, there is no key, and none is made for it.
    assertEquals(
      (await refused(own, dir.join("none.pem"), { path }, false))[0],
      "permission_denied",
    );
    assertEquals([...Deno.readDirSync(dir.path)].length, 2);
  },
});

/** The port of `svc task worker`: who may call it. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { connect } from "node:http2";
import { granted } from "../support/permissions.ts";
import { TaskWorker } from "../support/restate.ts";
import { can_run_svc, Place } from "../support/svc.ts";

const ignore = !can_run_svc || !granted("net");

const BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/** Bitcoin's base58, in which Restate writes keys. */
function base58(bytes: Uint8Array): string {
  let number = BigInt(`0x${bytes.toHex()}`);
  let text = "";
  for (; number > 0n; number /= 58n) text = BASE58[Number(number % 58n)] + text;
  // Leading zeros do not count in the number.
  return BASE58[0].repeat(bytes.findIndex((byte) => byte !== 0)) + text;
}

/** A Restate server's key, and the headers with which it signs. */
class Signer {
  private constructor(readonly name: string, readonly key: CryptoKey) {}

  static async make(): Promise<Signer> {
    const pair = await crypto.subtle.generateKey("Ed25519", true, [
      "sign",
      "verify",
    ]) as CryptoKeyPair;
    const raw = new Uint8Array(await crypto.subtle.exportKey("raw", pair.publicKey));
    return new Signer(`publickeyv1_${base58(raw)}`, pair.privateKey);
  }

  async sign(path: string): Promise<Record<string, string>> {
    const now = Math.floor(Date.now() / 1000);
    const part = (value: unknown) =>
      new TextEncoder().encode(JSON.stringify(value)).toBase64({
        alphabet: "base64url",
        omitPadding: true,
      });
    const said = `${part({ typ: "JWT", alg: "EdDSA", kid: this.name })}.${
      part({ aud: path, nbf: now - 60, iat: now, exp: now + 60 })
    }`;
    const signature = await crypto.subtle.sign("Ed25519", this.key, new TextEncoder().encode(said));
    const text = new Uint8Array(signature).toBase64({ alphabet: "base64url", omitPadding: true });
    return { "x-restate-signature-scheme": "v1", "x-restate-jwt-v1": `${said}.${text}` };
  }
}

/** Asks a worker what it serves. @returns the status */
async function discover(url: string, headers: Record<string, string>): Promise<number> {
  const session = connect(url);
  try {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const request = session.request({
      ":path": "/discover",
      accept: "application/vnd.restate.endpointmanifest.v4+json",
      ...headers,
    });
    request.on("response", (answer) => resolve(Number(answer[":status"])));
    request.on("error", reject);
    request.resume();
    request.end();
    return await promise;
  } finally {
    session.close();
  }
}

Deno.test({
  name: "a worker with a public key answers only what that key has signed",
  ignore,
  async fn() {
    const [ours, other] = [await Signer.make(), await Signer.make()];
    await using place = new Place();
    place.configure(
      `[tasks]\nengine = "restate"\nrestate_url = "http://127.0.0.1:9"\n` +
        `restate_public_keys = ["${ours.name}"]\n`,
    );
    await using worker = await TaskWorker.unregistered(place);
    const { url } = worker;
    assertEquals(await discover(url, {}), 401, "unsigned");
    assertEquals(await discover(url, await other.sign("/discover")), 401, "another key");
    assertEquals(await discover(url, await ours.sign("/discover")), 200, "the control");
  },
});

Deno.test({
  name: "a worker does not listen on a network address without a public key",
  ignore,
  async fn() {
    await using place = new Place();
    place.configure(`[tasks]\nengine = "restate"\n`);
    const { code, stderr } = await place.svc(["task", "worker", "--listen", "0.0.0.0:0"]);
    assertEquals(code, 2);
    assertStringIncludes(stderr, "anyone who can reach 0.0.0.0:0 could run tasks here");
  },
});

Deno.test({
  name: "a worker that cannot start says why and ends",
  ignore,
  async fn() {
    await using place = new Place();
    const configure = (more = "") =>
      place.configure(`[tasks]\nengine = "restate"\nrestate_url = "http://127.0.0.1:9"\n${more}`);
    configure();
    await using worker = await TaskWorker.unregistered(place);
    const address = new URL(worker.url).host;
    const start = async (...args: string[]) => await place.svc(["task", "worker", ...args]);
    const second = await start("--listen", address);
    assertEquals(second.code, 1);
    assertStringIncludes(second.stderr, `another program already listens on ${address}`);
    assertStringIncludes(second.stderr, "choose another port with --listen");
    const health = await start("--listen", "127.0.0.1:0", "--health", address);
    assertEquals(health.code, 1);
    assertStringIncludes(health.stderr, "choose another port with --health");
    configure('restate_public_keys = ["publickeyv1_1111"]\n');
    const key = await start("--listen", "127.0.0.1:0");
    assertEquals(key.code, 1);
    assertStringIncludes(key.stderr, "[tasks] restate_public_keys: ");
  },
});

import { assertEquals, assertNotEquals, assertRejects } from "@std/assert";
import { type Challenge, importKey, isProven, prove, randomText } from "../protocol/page_proof.ts";
import { SvcError } from "../protocol/errors.ts";
import { Pages } from "./pages.ts";

const PORT = 4242;
const HOME_KEY = randomText();

/** The daemons of a home, one after the other, and a page that the first has admitted. */
async function admitted({ now = (): number => 0 } = {}) {
  const daemon = async (home_key = HOME_KEY) =>
    new Pages({ home_key: await importKey(home_key), port: PORT, now });
  const { page, key } = await (await daemon()).admit();
  return { page, key: await importKey(key), next: await daemon(), daemon };
}

/** A page's question, and what the daemon says. */
async function asked(pages: Pages, page: string) {
  const page_nonce = randomText();
  const { nonce, proof } = await pages.challenge({ page, nonce: page_nonce });
  const challenge: Challenge = { page, page_nonce, daemon_nonce: nonce, port: PORT };
  return { challenge, nonce, proof };
}

function refused(pages: Pages, answer: Record<string, unknown>): Promise<unknown> {
  return assertRejects(() => pages.requireProof(answer), SvcError, "has not proven");
}

Deno.test("the next daemon of a home and a page that it knows prove it to each other", async () => {
  const { page, key, next } = await admitted();
  const { challenge, nonce, proof } = await asked(next, page);
  assertEquals(await isProven(key, "daemon", challenge, proof), true);
  await next.requireProof({ nonce, proof: await prove(key, "page", challenge) });
});

Deno.test("each page has a key of its own", async () => {
  const { daemon } = await admitted();
  const pages = await daemon();
  const [one, two] = [await pages.admit(), await pages.admit()];
  assertNotEquals(one.page, two.page);
  assertNotEquals(one.key, two.key);
});

Deno.test("another home's daemon and a program without a key prove nothing", async () => {
  const { page, key, daemon } = await admitted();
  const other = await asked(await daemon(randomText()), page);
  assertEquals(await isProven(key, "daemon", other.challenge, other.proof), false);
  const { challenge } = other;
  for (const proof of [undefined, null, "", randomText(), 1, {}, [other.proof], "=".repeat(44)]) {
    assertEquals([proof, await isProven(key, "daemon", challenge, proof)], [proof, false]);
  }
  for (const daemon_nonce of [undefined, "", "\n", `${randomText()}\n`]) {
    const odd = { ...challenge, daemon_nonce } as Challenge;
    const proof = await prove(key, "daemon", odd);
    assertEquals([daemon_nonce, await isProven(key, "daemon", odd, proof)], [daemon_nonce, false]);
  }
});

Deno.test("a proof is worth nothing for another question, page or port, or from the other side", async () => {
  const { page, key, next } = await admitted();
  const { challenge, proof } = await asked(next, page);
  for (
    const [name, value] of Object.entries({
      page: randomText(),
      page_nonce: randomText(),
      daemon_nonce: randomText(),
      port: PORT + 1,
    })
  ) {
    const changed = { ...challenge, [name]: value };
    assertEquals([name, await isProven(key, "daemon", changed, proof)], [name, false]);
  }
  assertEquals(await isProven(key, "page", challenge, proof), false);
});

Deno.test("the daemon takes no proof of its own, of another page, or twice", async () => {
  const { page, key, next } = await admitted();
  const reflected = await asked(next, page);
  await refused(next, { nonce: reflected.nonce, proof: reflected.proof });
  // A failed answer uses the question up.
  const late = await prove(key, "page", reflected.challenge);
  await refused(next, { nonce: reflected.nonce, proof: late });

  const other = await next.admit();
  const foreign = await asked(next, other.page);
  await refused(next, { nonce: foreign.nonce, proof: await prove(key, "page", foreign.challenge) });

  const { challenge, nonce } = await asked(next, page);
  const proof = await prove(key, "page", challenge);
  await next.requireProof({ nonce, proof });
  await refused(next, { nonce, proof });
  await refused(next, {});
  await refused(next, { nonce: randomText(), proof });
});

Deno.test("a question lasts ten seconds, and the newest 256 are open", async () => {
  let now = 0;
  const { page, key, next } = await admitted({ now: () => now });
  const slow = await asked(next, page);
  now = 10_001;
  const proof = await prove(key, "page", slow.challenge);
  await refused(next, { nonce: slow.nonce, proof });

  const first = await asked(next, page);
  for (let n = 0; n < 255; n++) await asked(next, page);
  const in_time = await asked(next, page);
  await refused(next, { nonce: first.nonce, proof: await prove(key, "page", first.challenge) });
  await next.requireProof({
    nonce: in_time.nonce,
    proof: await prove(key, "page", in_time.challenge),
  });
});

Deno.test("a question that is not one is refused", async () => {
  const { page, next } = await admitted();
  for (const nonce of [undefined, "", "a", 7, `${randomText()}\n`, randomText().slice(1)]) {
    await assertRejects(() => next.challenge({ page, nonce }), SvcError, "must be 32 bytes");
    await assertRejects(() => next.challenge({ page: nonce, nonce: randomText() }), SvcError);
  }
});

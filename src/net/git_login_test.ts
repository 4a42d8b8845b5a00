import { assertEquals, assertStringIncludes } from "@std/assert";
import { type Accepted, type Credential, Login } from "./git_login.ts";

/** Logins of a command at one host, and what the person's git is told. */
function logins() {
  const told: string[] = [];
  const accepted: Accepted = new Set();
  const credentials = {
    fill: (): Promise<Credential> => Promise.reject(new Error("unused")),
    settle({ account }: Credential, works: boolean) {
      told.push(`${account} ${works ? "works" : "does not"}`);
      return Promise.resolve();
    },
  };
  const to = { host: "a.example", port: 443 };
  return { told, at: (path: string) => new Login(credentials, to, path, accepted) };
}

const of = (account: string): Credential => ({ account, authorization: "", isIn: () => false });

Deno.test("an account that a host has accepted is not forgotten for another repository", async () => {
  const { told, at } = logins();
  await at("/a").accepted(of("me"));
  const refused = await at("/b").rejected(of("me"));
  assertStringIncludes(refused.message, "did not accept the person's credential for /b");
  assertEquals(told, ["me works"]);
  await at("/c").rejected(of("other"));
  assertEquals(told, ["me works", "other does not"]);
});

Deno.test("the person's git is told of each repository that refuses, once", async () => {
  const { told, at } = logins();
  const [a, b] = [at("/a"), at("/b")];
  const said = [await a.rejected(of("me")), await a.rejected(of("me")), await b.rejected(of("me"))];
  assertEquals(told, ["me does not", "me does not"]);
  assertEquals(said.map(({ message }) => /for (\/.)/.exec(message)![1]), ["/a", "/a", "/b"]);
});

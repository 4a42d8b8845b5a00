import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { join } from "@std/path";
import { SvcError } from "../protocol/errors.ts";
import { granted } from "../../tests/support/permissions.ts";
import { removeKey, requireKey, saveKey } from "./key_change.ts";
import { KeyFile } from "./key_file.ts";

const ignore = !granted("read", "write", "sys");
const posix = Deno.build.os !== "windows";
const KEY = { api_key: "sk-one", base_url: "https://one.example/v1" };

function place() {
  const home = Deno.makeTempDirSync({ prefix: "svc-keys-" });
  const paths = { home, keys: join(home, "keys.json"), keys_lock: join(home, "keys.lock") };
  return { paths, [Symbol.dispose]: () => Deno.removeSync(home, { recursive: true }) };
}

Deno.test({
  name: "a key is saved for its owner alone, and another reader sees it at once",
  ignore,
  async fn() {
    using here = place();
    const { paths } = here;
    const reader = new KeyFile(paths.keys);
    assertEquals([reader.get("one"), reader.all()], [undefined, {}]);
    await saveKey(paths, "one", KEY);
    assertEquals(reader.get("one"), KEY);
    if (posix) assertEquals(Deno.lstatSync(paths.keys).mode! & 0o777, 0o600);
    await saveKey(paths, "one", { ...KEY, api_key: "sk-two" });
    assertEquals(reader.get("one")?.api_key, "sk-two");
    assertEquals(reader.get("constructor"), undefined);
    assertEquals([await removeKey(paths, "one"), await removeKey(paths, "one")], [true, false]);
    assertEquals(reader.get("one"), undefined);
  },
});

Deno.test({
  name: "changes at the same time are all kept",
  ignore,
  async fn() {
    using here = place();
    const names = Array.from({ length: 20 }, (_, n) => `p${n}`);
    await Promise.all(names.map((name) => saveKey(here.paths, name, KEY)));
    assertEquals(Object.keys(new KeyFile(here.paths.keys).all()).sort(), names.sort());
    assertEquals([...Deno.readDirSync(here.paths.home)].length, 2, "no temporary file is left");
  },
});

Deno.test({
  name: "a file that others can read, a link and a damaged file are refused",
  ignore: ignore || !posix,
  async fn() {
    using here = place();
    const { keys: path } = here.paths;
    const keys = new KeyFile(path);
    await saveKey(here.paths, "one", KEY);
    assertEquals(keys.get("one"), KEY);
    for (const mode of [0o640, 0o604, 0o620, 0o602]) {
      Deno.chmodSync(path, mode);
      assertThrows(() => keys.get("one"), SvcError, `has mode 0${mode.toString(8)}, wider`);
      await assertRejects(() => saveKey(here.paths, "two", KEY), SvcError, "wider");
    }
    Deno.chmodSync(path, 0o600);
    assertEquals(Object.keys(keys.all()), ["one"]);
    Deno.renameSync(path, `${path}.moved`);
    Deno.symlinkSync(`${path}.moved`, path);
    assertThrows(() => keys.get("one"), SvcError, "is a symbolic link");
    Deno.removeSync(path);
    for (const text of ['{"one": {"api_key": "sk-one"', '{"one": "sk-one"}', "null"]) {
      Deno.writeTextFileSync(path, text, { mode: 0o600 });
      const { message } = assertThrows(() => keys.get("one"), SvcError, "is damaged");
      assertEquals(message.includes("sk-one"), false, "the error does not quote the file");
      await assertRejects(() => saveKey(here.paths, "two", KEY), SvcError, "is damaged");
    }
  },
});

Deno.test("a key is taken without blanks around it, and refused if no header can carry it", () => {
  assertEquals(requireKey(" sk-a_B/9=\r\n"), "sk-a_B/9=");
  for (const text of ["", " \n", "two words", "sk-\u00e4", "a\nb", "sk-\x07"]) {
    const { message } = assertThrows(() => requireKey(text), SvcError);
    assertEquals(text.trim() !== "" && message.includes(text.trim()), false);
  }
  assertThrows(() => requireKey("x".repeat(9_000)), SvcError, "longer than");
});

import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { fromFileUrl, join } from "@std/path";
import { granted } from "../support/permissions.ts";

const ignore = !granted("read", "write", "env");
const ROOT = fromFileUrl(new URL("../..", import.meta.url));

const SCHEMA = 'import * as z from "zod";\n' +
  "export const dog = () => z.object({ name: z.string(), age: z.int(), chip_id: z.string() });\n";
const OTHER =
  "z.object({ name: z.string(), age: z.int(), owner: z.string(), chip_id: z.string() })";

/** Loaded by the tests: the compiler in it asks for variables at once. */
const check = () => import("../../install/fields.ts");

/** Returns what the check says of a schema and a type in two files. */
async function said(types: string, schema = SCHEMA): Promise<string[]> {
  const { fieldsOf, restatedIn } = await check();
  return restatedIn([fieldsOf("src/schema.ts", schema), fieldsOf("src/type.ts", types)]);
}

Deno.test("no type of src states the fields of a schema again", { ignore }, async () => {
  await (await check()).requireStatedOnce(ROOT);
});

Deno.test("each way of stating a schema's fields again is refused", { ignore }, async () => {
  const message = "restates the schema in src/schema.ts:2";
  const seeds: [types: string, told: string, schema?: string][] = [
    [
      "interface Dog { name: string; age: number; chip_id: string }",
      `src/type.ts:1: Dog ${message}`,
    ],
    ["interface Dog {\n  chip_id?: string;\n  age: number;\n  readonly name: string;\n}", message],
    ['interface Dog { "name": string; age: number; chip_id: string; bark(): void }', message],
    [
      "type Dog = { name: string; age: number; chip_id: string };",
      `src/type.ts:1: a type ${message}`,
    ],
    [
      "\nfunction f(dog: { name: string; age: number; chip_id: string }) {}",
      "src/type.ts:2: a type",
    ],
    ["interface Dog extends Id { name: string; age: number; chip_id: string }", message],
    ["const dogs: { name: string; age: number; chip_id: string }[] = [];", message],
    [
      "interface Dog { name: string; age: number; chip_id: string }",
      "Dog restates",
      `const s = z.looseObject({ name, ...rest(), get chip_id() { return s; }, age: z.int() });`,
    ],
    [
      "interface Dog { name: string; age: number; chip_id: string }",
      "Dog restates",
      "const s = id().extend({ name: z.string(), age: z.int(), chip_id: z.string() });",
    ],
    [
      "interface Dog { name: string; age: number; owner: string; chip_id: string; born: string }",
      "Dog restates",
      `const s = ${OTHER};`,
    ],
    [
      "interface Dog { name: string; age: number; owner: string; chip_id: string }",
      "Dog restates",
      `const s = ${OTHER.replace("({", "({ born: z.string(),")};`,
    ],
    [
      "// fields-ok:\ninterface Dog { name: string; age: number; chip_id: string }",
      "src/type.ts:1: the reason is missing",
    ],
    [
      "// fields-ok: on the wire of others\ninterface Cat { claws: number }",
      "src/type.ts:1: nothing",
    ],
    ["/* fields-ok: no */\ninterface Dog { name: string; age: number; chip_id: string }", message],
  ];
  for (const [types, told, schema] of seeds) {
    const wrong = await said(types, schema);
    assertEquals(wrong.length, 1, types);
    assertStringIncludes(wrong[0], told, types);
  }
});

Deno.test(
  "what is inferred, only looks alike or has a reason is let through",
  { ignore },
  async () => {
    const sound: [types: string, schema?: string][] = [
      ["type Dog = z.output<ReturnType<typeof dog>>;"],
      ["interface Dog extends z.output<ReturnType<typeof dog>> { barks: boolean }"],
      ["interface Part { name: string; age: number }"],
      ["interface Cat { name: string; age: number; chip_id: string; claws: number }"],
      ["interface Dogs { name(): string; age(): number; chip_id: () => string }"],
      ["// fields-ok: another program's file\ninterface Dog { name: string; age: number; chip_id: string }"],
      [
        "interface Show { name: string; age: number; owner: string; chip_id: string; " +
        "prize: string; place: number }",
        `const s = ${OTHER};`,
      ],
      [
        "interface Dog { name: string; age: number; chip_id: string }",
        "const s = make({ name, age });",
      ],
      [
        "interface Dog { name: string; age: number; chip_id: string }",
        "// fields-ok: a file from elsewhere\n" +
        "const s = z.object({ name: z.string(), age: z.int(), chip_id: z.string() });",
      ],
    ];
    for (const [types, schema] of sound) assertEquals(await said(types, schema), [], types);
  },
);

Deno.test("the check reads the sources of src, except tests", { ignore }, async () => {
  const { requireStatedOnce } = await check();
  const root = await Deno.makeTempDir();
  const type = "export interface Dog { name: string; age: number; chip_id: string }\n";
  try {
    await Deno.mkdir(join(root, "src", "pets"), { recursive: true });
    await Deno.writeTextFile(join(root, "src", "schema.ts"), SCHEMA);
    await Deno.writeTextFile(join(root, "src", "pets", "dog_test.ts"), type);
    await requireStatedOnce(root);
    await Deno.writeTextFile(join(root, "src", "pets", "dog.ts"), type);
    const { message } = await assertRejects(() => requireStatedOnce(root), Error);
    assertStringIncludes(message, "src/pets/dog.ts:1: Dog restates the schema in src/schema.ts:2");
    assertStringIncludes(message, "hint: infer the type");
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});

import { assertEquals } from "@std/assert";
import * as z from "zod";
import "./issue_text.ts";

function refused(schema: z.ZodType, value: unknown): string {
  const { error } = schema.safeParse(value);
  return error!.issues.map(({ path, message }) => [...path, message].join(": ")).join("; ");
}

Deno.test("what a schema refuses is said in plain words", () => {
  const count = z.int().min(1);
  for (
    const [schema, value, said] of [
      [z.number(), "x", "must be a number, not text"],
      [z.string(), 4711, "must be text, not a number"],
      [z.string(), undefined, "is required"],
      [z.string(), null, "must be text, not null"],
      [z.boolean(), "yes", "must be true or false, not text"],
      [z.array(z.string()), {}, "must be a list, not an object"],
      [z.record(z.string(), z.string()), [], "must be an object, not a list"],
      [z.number(), Infinity, "must be a number, not Infinity"],
      [count, 0, "must be a whole number of at least 1, not 0"],
      [count, 1.5, "must be a whole number of at least 1, not 1.5"],
      [count, "x", "must be a whole number of at least 1, not text"],
      [count.max(16).optional(), 17, "must be a whole number from 1 to 16, not 17"],
      [z.number().int().max(9), 10, "must be a whole number of at most 9, not 10"],
      [z.number().positive(), 0, "must be a number above 0, not 0"],
      [z.number().positive().max(5), 6, "must be a number above 0 and of at most 5, not 6"],
      [z.number().multipleOf(5), 6, "must be a multiple of 5"],
      [z.string().min(1), "", "must not be empty"],
      [z.string().min(3), "a", "must have at least 3 characters"],
      [z.string().max(1), "ab", "must have at most 1 character"],
      [z.string().length(2), "a", "must have exactly 2 characters"],
      [z.array(z.string()).max(2), ["", "", ""], "must have at most 2 entries"],
      [z.array(z.string()).min(1), [], "must not be empty"],
      [z.enum(["low", "high"]), "no", "must be one of low, high"],
      [z.literal(1), 2, "must be 1"],
      [z.url(), "x", "must be an address such as https://example.org"],
      [z.string().regex(/^a/), "b", "must match /^a/"],
      [z.string().refine(() => false, "must be mine"), "b", "must be mine"],
      [z.string().refine(() => false), "b", "is not valid"],
      [z.strictObject({}), { a: 1 }, "unknown key a"],
      [
        z.strictObject({}),
        Object.fromEntries([..."abcdefg"].map((key) => [key, 1])),
        "unknown keys a, b, c, d, e and 2 more",
      ],
      [
        z.record(z.string().max(2), z.number()),
        { abc: 1 },
        "abc: has a key that must have at most 2 characters",
      ],
      [z.union([z.string(), z.number()]), true, "must be text or a number, not true"],
      [z.union([z.string(), z.array(z.string())]), 4711, "must be text or a list, not a number"],
      [z.union([z.string(), z.object({})]), undefined, "is required"],
      [z.union([z.string(), count]), 0, "must be a whole number of at least 1, not 0"],
      [
        z.union([z.string(), z.object({ port: count })]),
        { port: "x" },
        "port: must be a whole number of at least 1, not text",
      ],
      [z.union([z.literal("auto"), z.number()]), "x", "must be auto or a number, not text"],
      [
        z.discriminatedUnion("kind", [
          z.object({ kind: z.literal("a") }),
          z.object({ kind: z.literal("b") }),
        ]),
        { kind: "c" },
        "kind: must be one of a, b",
      ],
    ] as const
  ) assertEquals(refused(schema, value), said);
});

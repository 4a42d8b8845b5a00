import { assertEquals } from "@std/assert";
import { Validator } from "@seriousme/openapi-schema-validator";
import { VERBS } from "../features/registry.ts";
import { type Json, openApi } from "./openapi.ts";

const document = openApi(VERBS);
const paths = document.paths as Record<string, Record<string, Json>>;

Deno.test("the description is valid OpenAPI 3.1", async () => {
  const { valid, errors } = await new Validator().validate(structuredClone(document));
  assertEquals([valid, errors], [true, undefined]);
});

Deno.test("every route of a verb is described, and what needs no token says so", () => {
  for (const { name, rest } of VERBS) {
    if (rest === undefined) continue;
    const path = rest.path.replaceAll(/:(\w+)/g, "{$1}");
    const operation = paths[path][rest.method.toLowerCase()];
    assertEquals(operation.operationId, name);
    assertEquals(operation.security, rest.public ? [] : undefined);
    const named = (operation.parameters as Json[] ?? []).filter((it) => it.in === "path");
    assertEquals(named.map((it) => `{${it.name}}`), path.match(/\{\w+\}/g) ?? []);
  }
});

Deno.test("what REST requires is required, though the verb alone does not", () => {
  const body = paths["/v1/sessions"].post.requestBody as {
    content: { "application/json": { schema: { required: string[] } } };
  };
  assertEquals(body.content["application/json"].schema.required, ["workdir"]);
});

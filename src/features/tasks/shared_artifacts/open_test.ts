import { assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { SvcError } from "../../../protocol/errors.ts";
import { bucketOptions, openSharedArtifacts } from "./open.ts";

const KEYS = { AWS_ACCESS_KEY_ID: "key", AWS_SECRET_ACCESS_KEY: "a-secret" };

function optionsOf(url: string, env: Record<string, string> = {}) {
  const all: Record<string, string> = { ...KEYS, ...env };
  return bucketOptions(url, (name) => all[name]);
}

Deno.test("a URL and the variables of AWS's tools say where a bucket is", () => {
  const at = (url: string, env?: Record<string, string>) => optionsOf(url, env).at;
  assertEquals(at("s3://things"), "https://things.s3.us-east-1.amazonaws.com");
  assertEquals(
    at("s3://things", { AWS_DEFAULT_REGION: "eu-west-1" }),
    "https://things.s3.eu-west-1.amazonaws.com",
  );
  assertEquals(
    at("s3://things", { AWS_REGION: "cn-north-1", AWS_DEFAULT_REGION: "eu-west-1" }),
    "https://things.s3.cn-north-1.amazonaws.com.cn",
  );
  assertEquals(at("s3://a.b.c"), "https://s3.us-east-1.amazonaws.com/a.b.c");
  assertEquals(at("s3://things?path_style=true"), "https://s3.us-east-1.amazonaws.com/things");
  const minio = { AWS_ENDPOINT_URL: "http://minio:9000/" };
  assertEquals(at("s3://things", minio), "http://minio:9000/things");
  assertEquals(at("s3://things?path_style=false", minio), "http://things.minio:9000");
  const r2 = { ...minio, AWS_ENDPOINT_URL_S3: "https://x.r2.cloudflarestorage.com" };
  assertEquals(at("s3://things", r2), "https://x.r2.cloudflarestorage.com/things");
  assertEquals(
    at("s3://things?endpoint=https://x.supabase.co/storage/v1/s3", r2),
    "https://x.supabase.co/storage/v1/s3/things",
  );
});

Deno.test("a URL says the prefix and the region", () => {
  const { prefix, region, url } = optionsOf("s3://things/a/b.c/?region=auto", { AWS_REGION: "no" });
  assertEquals({ prefix, region, url }, {
    prefix: "a/b.c/",
    region: "auto",
    url: "s3://things/a/b.c/",
  });
  assertEquals(optionsOf("s3://things/").prefix, "");
});

for (
  const [url, expected] of [
    ["s3://", "must be s3://bucket/prefix"],
    ["s3://things/with space", "must be s3://bucket/prefix"],
    ["s3://things/a+b", "must be s3://bucket/prefix"],
    ["s3://things/a%2Fb", "must be s3://bucket/prefix"],
    ["s3://things/a/../b/.c", "must be s3://bucket/prefix"],
    ["s3://things//b", "must be s3://bucket/prefix"],
    ["s3://things:9000/b", "must be s3://bucket/prefix"],
    ["s3://[bad", "is not a valid URL"],
    ["s3://things?regoin=x", "unknown setting regoin"],
    ["s3://things?path_style=yes", "path_style must be true or false"],
    ["s3://things?endpoint=minio:9000", "invalid endpoint"],
    ["s3://user:a-secret@things", "must not contain credentials"],
    ["s3://things?endpoint=https://user:a-secret@minio", "invalid endpoint"],
  ]
) {
  Deno.test(`a wrong URL is refused without repeating secrets: ${url}`, () => {
    const { message, code } = assertThrows(() => optionsOf(url), SvcError);
    assertEquals(code, "validation");
    assertStringIncludes(message, expected);
    assertEquals(message.includes("a-secret"), false);
  });
}

Deno.test("other kinds of stores and relative paths are refused", async () => {
  for (const url of ["ftp://user:a-secret@host/x", "artifacts", ""]) {
    const error = await assertRejects(
      () => openSharedArtifacts(url, { env: () => undefined }),
      SvcError,
    );
    assertStringIncludes(error.message, "must begin with file:///, s3:// or a slash");
    assertEquals(error.message.includes("a-secret"), false);
  }
});

Deno.test("a bucket without credentials is refused, and the hint names the variables", async () => {
  for (const env of [{}, { AWS_ACCESS_KEY_ID: "key" }] as Record<string, string>[]) {
    const error = await assertRejects(
      () => openSharedArtifacts("s3://things", { env: (name) => env[name] }),
      SvcError,
      "no credentials for s3://things",
    );
    assertStringIncludes(error.hint!, "AWS_SECRET_ACCESS_KEY");
  }
});

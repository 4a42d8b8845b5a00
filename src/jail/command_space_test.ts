import { assertEquals } from "@std/assert";
import { cacheEnvironment } from "./command_space.ts";

const NONE = { network: false, npm: false, nvm: false };

Deno.test("package managers get no variable of another that they refuse or complain about", () => {
  const all = cacheEnvironment("/home/me", NONE);
  assertEquals(all.npm_config_store_dir, "/var/cache/svc/pnpm");
  assertEquals(all.npm_config_prefix, "/var/cache/svc");
  const npm = cacheEnvironment("/home/me", { ...NONE, npm: true });
  assertEquals([npm.npm_config_store_dir, npm.pnpm_config_store_dir], [
    undefined,
    "/var/cache/svc/pnpm",
  ]);
  const nvm = cacheEnvironment("/home/me", { ...NONE, nvm: true });
  assertEquals([nvm.npm_config_prefix, nvm.GOBIN], [undefined, "/var/cache/svc/bin"]);
});

Deno.test("options of Maven have no blank inside of one", () => {
  const words = (home: string) => cacheEnvironment(home, NONE).MAVEN_ARGS.split(" ");
  assertEquals(words("/home/me"), [
    "-Dmaven.repo.local=/var/cache/svc/maven",
    "-Dmaven.repo.local.tail=/home/me/.m2/repository",
  ]);
  assertEquals(words("/home/my self"), ["-Dmaven.repo.local=/var/cache/svc/maven"]);
});

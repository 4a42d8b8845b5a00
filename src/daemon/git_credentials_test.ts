import { assertEquals } from "@std/assert";
import { join } from "@std/path";
import { granted } from "../../tests/support/permissions.ts";
import { Semaphore } from "../base/semaphore.ts";
import { GitCredentials } from "./git_credentials.ts";

const ignore = Deno.build.os === "windows" || !granted("read", "write", "run", "env", "ffi");

/** Notes how many of it run, until the test lets them end. */
const GIT = `#!/bin/sh
[ "$1" = credential ] || exit 0
cat > /dev/null
: > "$AT/run-$$"
while [ ! -e "$AT/end" ]; do sleep 0.05; done
rm "$AT/run-$$"
: > "$AT/ran-$$"
printf 'username=me\\npassword=it\\n'
`;

Deno.test(
  { name: "the commands' programs for credentials wait for each other", ignore },
  async () => {
    const AT = Deno.realPathSync(Deno.makeTempDirSync());
    const cmd = join(AT, "git");
    Deno.writeTextFileSync(cmd, GIT, { mode: 0o755 });
    const slots = new Semaphore(4);
    const command = () =>
      new GitCredentials({
        sandbox: { outside: () => ({ cmd, path: "/usr/bin:/bin" }), absence: () => "" },
        workdir: "/nowhere",
        writable: () => [],
        slots,
        environment: { AT },
        signal: new AbortController().signal,
      });
    const named = (start: string) =>
      [...Deno.readDirSync(AT)].filter(({ name }) => name.startsWith(start)).length;
    try {
      const filled = Array.from(
        { length: 9 },
        () => command().fill({ host: "a.example", port: 443 }, "/me/repo"),
      );
      while (named("run-") < 4) {
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      await new Promise((resolve) => setTimeout(resolve, 300));
      assertEquals(named("run-"), 4);
      Deno.writeTextFileSync(join(AT, "end"), "");
      await Promise.all(filled);
      assertEquals(named("ran-"), 9);
    } finally {
      await Deno.remove(AT, { recursive: true });
    }
  },
);

import { assertEquals } from "@std/assert";
import { commandLine } from "./command_line.ts";
import { granted } from "../../../tests/support/permissions.ts";

Deno.test("a command with arguments is quoted, one without is a line already", () => {
  assertEquals(commandLine({ command: "ls | wc -l" }), "ls | wc -l");
  assertEquals(commandLine({ command: "git", args: ["log", "-1"] }), "git log -1");
  assertEquals(commandLine({ command: "echo", args: ["it's"] }), `echo 'it'\\''s'`);
  assertEquals(
    commandLine({ command: "make", args: ["-j"], env: [{ name: "A", value: "b c" }], cwd: "src" }),
    "cd src && env 'A=b c' make -j",
  );
});

Deno.test({
  name: "a shell takes the words as they were",
  ignore: !granted("run") || Deno.build.os === "windows",
  async fn() {
    const words = ["a b", "it's", '"q"', "$HOME", "`x`", "*", "", "\\", "new\nline", "ä"];
    const line = commandLine({
      command: "printf",
      args: ["%s\\0", ...words],
      env: [{ name: "X", value: "1 2" }],
    });
    const { stdout } = await new Deno.Command("/bin/sh", { args: ["-c", line] }).output();
    assertEquals(new TextDecoder().decode(stdout).split("\0").slice(0, -1), words);
  },
});

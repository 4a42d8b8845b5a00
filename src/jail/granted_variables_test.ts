import { assertEquals, assertThrows } from "@std/assert";
import { grantedVariables, requireVariable } from "./granted_variables.ts";

Deno.test("a name gives the daemon's value, and NAME=value its own", () => {
  const environment = { JAVA_HOME: "/opt/java", TOKEN: "secret", EMPTY: "" };
  const entries = ["JAVA_HOME", "MISSING", "EMPTY", "CI=1", "URL=a=b", "NONE="];
  assertEquals(grantedVariables(entries, environment), {
    JAVA_HOME: "/opt/java",
    EMPTY: "",
    CI: "1",
    URL: "a=b",
    NONE: "",
  });
});

Deno.test("names that svc sets are refused", () => {
  for (
    const entry of [
      "JAVA_HOME",
      "LD_LIBRARY_PATH",
      "_x9=a b",
      "npm_config_registry=http://127.0.0.1:1/",
    ]
  ) {
    requireVariable(entry);
  }
  for (const entry of ["PATH", "home=/x", "SVC_HOME=/x"]) {
    assertThrows(() => requireVariable(entry), Error, "which svc sets itself");
  }
  for (const entry of ["", "=x", "1A", "A B", "A-B=1", "*_TOKEN", "A=\0"]) {
    assertThrows(() => requireVariable(entry), Error, "must be NAME or NAME=value");
  }
});

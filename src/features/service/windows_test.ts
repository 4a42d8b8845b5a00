import { assertEquals, assertMatch } from "@std/assert";
import { programOf, serviceCommand, serviceSecurity } from "./windows.ts";

const SID = "S-1-5-21-1004336348-1177238915-682003330-512";

Deno.test("what a service runs is read back as it was written", () => {
  const program = "C:\\Users\\Me & Co\\.svc\\bin\\svc.exe";
  assertEquals(programOf({ command: serviceCommand(program) }), {
    program,
    environment: new Map(),
  });
  assertEquals(programOf({ command: "C:\\other.exe" }).program, undefined);
});

Deno.test("its user may start, stop and remove the service, and not change it", () => {
  const [, rights] = serviceSecurity(SID).match(new RegExp(`\\(A;;(\\w+);;;${SID}\\)$`))!;
  assertMatch(rights, /^(\w\w)+$/);
  const granted = rights.match(/../g)!;
  for (const right of ["RP", "WP", "SD"]) assertEquals(granted.includes(right), true, right);
  // Changing what it runs, its security or its owner would be a way to another account.
  for (const right of ["DC", "WD", "WO", "GA", "GW"]) {
    assertEquals(granted.includes(right), false, right);
  }
});

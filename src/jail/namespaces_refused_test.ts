import { assertEquals, assertStringIncludes } from "@std/assert";
import { explained } from "./namespaces_refused.ts";

const BWRAP = "/usr/bin/bwrap";
const reading = (files: Record<string, string>) => (path: string) => files[path];

const RESTRICT = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns";
const CLONE = "/proc/sys/kernel/unprivileged_userns_clone";
const MAX = "/proc/sys/user/max_user_namespaces";

/** As bwrap says it where AppArmor restricts user namespaces. */
const UBUNTU = [
  "bwrap: setting up uid map: Permission denied",
  "bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted",
];

for (const complaint of UBUNTU) {
  Deno.test(`Ubuntu's restriction is named, with a profile for bubblewrap alone: ${complaint}`, () => {
    const { why, mend } = explained(complaint, BWRAP, reading({ [RESTRICT]: "1\n", [MAX]: "7\n" }));
    assertStringIncludes(why, complaint);
    assertStringIncludes(why, "AppArmor refuses user namespaces");
    assertStringIncludes(mend!, "profile bwrap /usr/bin/bwrap flags=(unconfined) {\\n  userns,");
    assertStringIncludes(mend!, "| sudo tee /etc/apparmor.d/bwrap && sudo apparmor_parser -r");
  });
}

Deno.test("a kernel that switches user namespaces off is named, with the switch", () => {
  const debian = "bwrap: No permissions to create new namespace, likely because the kernel does " +
    "not allow non-privileged user namespaces.";
  const { mend } = explained(debian, BWRAP, reading({ [RESTRICT]: "0\n", [CLONE]: "0\n" }));
  assertEquals(
    mend,
    "allow user namespaces: echo kernel.unprivileged_userns_clone=1 | " +
      "sudo tee /etc/sysctl.d/60-userns.conf && sudo sysctl --system",
  );
  const redhat = "bwrap: Creating new namespace failed: nesting depth or " +
    "/proc/sys/user/max_*_namespaces exceeded (ENOSPC)";
  const { why } = explained(redhat, BWRAP, reading({ [MAX]: "0\n" }));
  assertStringIncludes(why, "user.max_user_namespaces is 0 on this machine");
});

Deno.test("another complaint, and another cause, have no remedy", () => {
  const why = (complaint: string) => ({ why: `/usr/bin/bwrap does not work here: ${complaint}` });
  const restricted = reading({ [RESTRICT]: "1\n", [CLONE]: "0\n", [MAX]: "0\n" });
  const other = "bwrap: Can't mount proc on /newroot/proc: Operation not permitted";
  assertEquals(explained(other, BWRAP, restricted), why(other));
  assertEquals(explained(UBUNTU[0], BWRAP, reading({})), why(UBUNTU[0]));
});

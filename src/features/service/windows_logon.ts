/** The right to log on as a service, which Windows does not grant with a service. */
import { openLibrary } from "../../os/windows/libraries.ts";
import { Instance, wide } from "../../os/windows/structure.ts";
import { LSA_OBJECT_ATTRIBUTES, LSA_UNICODE_STRING } from "../../os/windows/structures.ts";

const POLICY_CREATE_ACCOUNT = 0x0010;
const POLICY_LOOKUP_NAMES = 0x0800;
const RIGHT = "SeServiceLogonRight";

const ADVAPI = {
  ConvertStringSidToSidW: { parameters: ["buffer", "buffer"], result: "i32" },
  LsaOpenPolicy: { parameters: ["pointer", "buffer", "u32", "buffer"], result: "u32" },
  LsaAddAccountRights: { parameters: ["isize", "pointer", "buffer", "u32"], result: "u32" },
  LsaClose: { parameters: ["isize"], result: "u32" },
} as const;
const KERNEL = { LocalFree: { parameters: ["pointer"], result: "pointer" } } as const;

/**
 * Grants a user the right. @param sid such as `S-1-5-21-…`
 * @returns false when this process may not
 */
export function grantServiceLogon(sid: string): boolean {
  using stack = new DisposableStack();
  const advapi = stack.adopt(openLibrary("advapi32", ADVAPI), (it) => it.close()).symbols;
  const kernel = stack.adopt(openLibrary("kernel32", KERNEL), (it) => it.close()).symbols;
  const made = new BigUint64Array(1);
  if (!advapi.ConvertStringSidToSidW(wide(sid), new Uint8Array(made.buffer))) return false;
  const pointer = Deno.UnsafePointer.create(made[0]);
  stack.defer(() => kernel.LocalFree(pointer));

  const attributes = new Instance(LSA_OBJECT_ATTRIBUTES)
    .set("Length", LSA_OBJECT_ATTRIBUTES.size).bytes;
  const policy = new BigInt64Array(1);
  const rights = POLICY_CREATE_ACCOUNT | POLICY_LOOKUP_NAMES;
  if (advapi.LsaOpenPolicy(null, attributes, rights, new Uint8Array(policy.buffer)) !== 0) {
    return false;
  }
  stack.defer(() => advapi.LsaClose(policy[0]));
  const text = wide(RIGHT);
  const right = new Instance(LSA_UNICODE_STRING)
    .set("Length", RIGHT.length * 2)
    .set("MaximumLength", text.length)
    .set("Buffer", text).bytes;
  return advapi.LsaAddAccountRights(policy[0], pointer, right, 1) === 0;
}

/** Opens libraries of Windows, by their paths: a bare name is looked up in other places first. */
const SYSTEM = "C:\\Windows\\System32";

/**
 * Opens one with the given symbols.
 *
 * @throws {Error} where it cannot be: Windows lies elsewhere, or the `ffi` permission is not granted.
 */
export function openLibrary<const S extends Deno.ForeignLibraryInterface>(
  name: "kernel32" | "advapi32" | "ntdll",
  symbols: S,
): Deno.DynamicLibrary<S> {
  return Deno.dlopen(`${SYSTEM}\\${name}.dll`, symbols);
}

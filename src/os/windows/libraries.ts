/** A full path, because a bare name is looked up elsewhere first. */
const SYSTEM = "C:\\Windows\\System32";

/**
 * Opens a library of Windows with the given symbols.
 *
 * @throws {Error} when Windows is elsewhere, or the `ffi` permission is missing
 */
export function openLibrary<const S extends Deno.ForeignLibraryInterface>(
  name: "kernel32" | "advapi32" | "ntdll",
  symbols: S,
): Deno.DynamicLibrary<S> {
  return Deno.dlopen(`${SYSTEM}\\${name}.dll`, symbols);
}

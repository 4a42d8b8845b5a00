/** A certificate authority of the tests' own. */
import { join } from "@std/path";

function openssl(...args: string[]): void {
  const { success, stderr } = new Deno.Command("openssl", { args }).outputSync();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
}

/** Makes an authority, and a certificate by it for localhost and more names. */
export function certificates(dir: string, ...names: string[]) {
  const path = (name: string) => join(dir, name);
  const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  const [ca, ca_key] = [path("ca.pem"), path("ca.key")];
  openssl("req", "-x509", ...curve, "-subj", "/CN=authority", "-keyout", ca_key, "-out", ca);
  const [key, request, cert] = [path("key.pem"), path("request.pem"), path("cert.pem")];
  openssl("req", ...curve, "-subj", "/CN=localhost", "-keyout", key, "-out", request);
  const all = ["localhost", ...names].map((name) => `DNS:${name}`).join(",");
  Deno.writeTextFileSync(path("names"), `subjectAltName=${all}\n`);
  const signed = ["-CA", ca, "-CAkey", ca_key, "-CAcreateserial", "-extfile", path("names")];
  openssl("x509", "-req", "-in", request, ...signed, "-out", cert);
  return { ca, cert: Deno.readTextFileSync(cert), key: Deno.readTextFileSync(key) };
}

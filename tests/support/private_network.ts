/** What hired work must not reach, by all the names it has. */
import { Egress } from "../../src/net/egress.ts";

/** Addresses, with `<port>` a server on loopback, and why each is refused. */
export const PRIVATE: readonly (readonly [address: string, reason: string])[] = [
  ["http://127.0.0.1:<port>/", "not a public address"],
  ["http://127.1:<port>/", "not a public address"],
  ["http://127.8.8.8:<port>/", "not a public address"],
  ["http://2130706433:<port>/", "not a public address"],
  ["http://0x7f000001:<port>/", "not a public address"],
  ["http://0x7f.0.0.1:<port>/", "not a public address"],
  ["http://0177.0.0.1:<port>/", "not a public address"],
  ["http://017700000001:<port>/", "not a public address"],
  ["http://0:<port>/", "not a public address"],
  ["http://0.0.0.0:<port>/", "not a public address"],
  ["http://%31%32%37.0.0.1:<port>/", "not a public address"],
  ["http://①②⑦.⓪.⓪.①:<port>/", "not a public address"],
  ["http://127.0.0.1.:<port>/", "not a public address"],
  ["http://localhost:<port>/", "not a public address"],
  ["http://LOCALHOST.:<port>/", "not a public address"],
  ["http://[::1]:<port>/", "not a public address"],
  ["http://[::]:<port>/", "not a public address"],
  ["http://[::ffff:127.0.0.1]:<port>/", "not a public address"],
  ["http://[::ffff:7f00:1]:<port>/", "not a public address"],
  ["http://[::7f00:1]:<port>/", "not a public address"],
  ["http://[64:ff9b::7f00:1]/", "not a public address"],
  ["http://[2002:7f00:1::]/", "not a public address"],
  ["http://[fe80::1]/", "not a public address"],
  ["http://[fd00::1]/", "not a public address"],
  ["http://[fec0::1]/", "not a public address"],
  ["http://10.0.0.1/", "not a public address"],
  ["http://172.16.0.1/", "not a public address"],
  ["http://192.168.1.1/", "not a public address"],
  ["http://169.254.169.254/latest/meta-data/", "not a public address"],
  ["http://100.64.0.1/", "not a public address"],
  ["http://198.18.0.1/", "not a public address"],
  ["http://224.0.0.1/", "not a public address"],
  ["http://255.255.255.255/", "not a public address"],
  ["https://127.0.0.1:<port>/", "not a public address"],
  ["file:///etc/passwd", "only http and https URLs can be fetched, not file:"],
  ["data:text/html,<b>x</b>", "only http and https URLs can be fetched, not data:"],
  ["ftp://127.0.0.1/", "only http and https URLs can be fetched, not ftp:"],
  ["blob:http://127.0.0.1/x", "only http and https URLs can be fetched, not blob:"],
  ["http://user:pass@127.0.0.1:<port>/", "URLs with credentials are not allowed"],
  ["http://127。0。0。1:<port>/", "not a public address"],
  ["http://127.0.1:<port>/", "not a public address"],
  ["http://0x7F.1:<port>/", "not a public address"],
  ["http://00000177.1:<port>/", "not a public address"],
  ["http://[0:0:0:0:0:ffff:127.0.0.1]:<port>/", "not a public address"],
  ["http://[::ffff:0:127.0.0.1]/", "not a public address"],
  ["http://[64:ff9b:1::7f00:1]/", "not a public address"],
  ["http://[2001:0:7f00:1::]/", "not a public address"],
  ["http://[2001:db8::1]/", "not a public address"],
  ["http://[ff02::1]/", "not a public address"],
  ["http://[fd00:ec2::254]/latest/meta-data/", "not a public address"],
  ["http://[fe80::1%25lo]/", "not a valid URL"],
  ["http://10.1/", "not a public address"],
  ["http://192.168.257/", "not a public address"],
  ["http://169.254.43518/", "not a public address"],
  ["http://①⑥⑨.②⑤④.①⑥⑨.②⑤④/", "not a public address"],
  ["http://100.100.100.200/latest/meta-data/", "not a public address"],
  ["http://192.0.0.192/opc/v2/", "not a public address"],
  ["http://168.63.129.16/machine/", "not a public address"],
  ["http://240.0.0.1/", "not a public address"],
  ["http://127.0.0.1:<port>\\@public.example/", "not a public address"],
  ["http://public.example@127.0.0.1:<port>/", "URLs with credentials are not allowed"],
  ["view-source:http://127.0.0.1/", "only http and https URLs can be fetched, not view-source:"],
  ["unix:///run/docker.sock", "only http and https URLs can be fetched, not unix:"],
  ["http+unix://%2Frun%2Fdocker.sock/", "only http and https URLs can be fetched, not http+unix:"],
  ["gopher://127.0.0.1:<port>/", "only http and https URLs can be fetched, not gopher:"],
  ["ws://127.0.0.1:<port>/", "only http and https URLs can be fetched, not ws:"],
  ["javascript:location", "only http and https URLs can be fetched, not javascript:"],
];

/** The name of a site that counts as public, though it is on loopback. */
export const PUBLIC_NAME = "public.example";

/** A way out for which one name is public: what a hostile site would have itself. */
export class WithPublicSite extends Egress {
  override async addresses(hostname: string, port: number): Promise<readonly string[]> {
    return hostname === PUBLIC_NAME ? ["127.0.0.1"] : await super.addresses(hostname, port);
  }
}

/** The address of a bootstrap server as people write it: a multiaddr that names the server's key. */
import { isIPv4, isIPv6 } from 'node:net'
import { ADDRESS_SIZE_BYTES_MAX, type Hex, parsePeerIdText } from '../../protocol/index.ts'

const EXAMPLE = '/dns4/relay.example/tcp/4001/p2p/12D3Koo…'
const HINT = `Copy it whole, as relay-node bootstrap prints it where the server runs: ${EXAMPLE}`
const HOST_NAME = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*\.?$/i

export type AddressCheck = { ok: true; server: Hex } | { ok: false; why: string; hint: string }

/** Whether `text` is such an address, and which server it names; else what is wrong with it. */
export function checkBootstrapAddress(text: string): AddressCheck {
  const wrong = (why: string): AddressCheck => ({ ok: false, why, hint: HINT })
  if (Buffer.byteLength(text) > ADDRESS_SIZE_BYTES_MAX) return wrong(`it has more than ${ADDRESS_SIZE_BYTES_MAX} bytes`)
  const [empty, host = '', name = '', ...rest] = text.split('/')
  if (empty !== '' || host === '') return wrong('it does not begin with /ip4, /ip6 or /dns4')
  const fault = hostFault(host, name)
  if (fault !== undefined) return wrong(fault)
  const at = rest.lastIndexOf('p2p')
  if (at < 0 || at !== rest.length - 2) return wrong('it does not end in /p2p/ and the PeerId of the server')
  const server = parsePeerIdText(rest[at + 1] ?? '')
  if (server === undefined) return wrong('what stands after /p2p/ is not the PeerId of a bootstrap server')
  const way = wayFault(host, rest.slice(0, at))
  return way === undefined ? { ok: true, server } : wrong(way)
}

function hostFault(host: string, name: string): string | undefined {
  switch (host) {
    case 'ip4':
      return isIPv4(name) ? undefined : `"${name}" is not an IPv4 address`
    case 'ip6':
      return isIPv6(name) ? undefined : `"${name}" is not an IPv6 address`
    case 'dns':
    case 'dns4':
    case 'dns6':
      return HOST_NAME.test(name) ? undefined : `"${name}" is not the name of a host`
    case 'memory':
      return name === '' ? 'it names no place in memory' : undefined
    default:
      return `it begins with /${host}, and not with /ip4, /ip6 or /dns4`
  }
}

/** After the host: a TCP port, and whether it is a WebSocket. */
function wayFault(host: string, way: readonly string[]): string | undefined {
  if (host === 'memory') return way.length === 0 ? undefined : 'a place in memory has no port'
  const [tcp, port = '', ...over] = way
  if (tcp !== 'tcp') return 'it names no TCP port'
  if (!/^\d{1,5}$/.test(port) || Number(port) < 1 || Number(port) > 65_535) return `"${port}" is not a port`
  return ['', 'ws', 'wss', 'tls/ws'].includes(over.join('/'))
    ? undefined
    : `"${over.join('/')}" is no way to a bootstrap server`
}

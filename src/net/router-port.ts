/** A port at the router that leads to this node, where the router gives one (UPnP). Loaded by those who ask for it only. */
import { start, stop } from '@libp2p/interface'
import { uPnPNAT, type UPnPNATComponents } from '@libp2p/upnp-nat'

/** Asks for it, and again whenever addresses change. Returns what gives it back. */
export async function openRouterPort(components: UPnPNATComponents): Promise<() => Promise<void>> {
  // Nobody else confirms the address: that teammates get through is seen when they do.
  const mapper = uPnPNAT({ autoConfirmAddress: true })(components)
  await start(mapper)
  return () => stop(mapper)
}

# class: net | kind: self
# expect: AF_VSOCK (not namespaced: reaches the hypervisor), AF_NETLINK, AF_PACKET, AF_ALG, AF_BLUETOOTH, raw, SCTP all denied (creation only)
import socket; hit = []; S, D, R, Q = socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET
for n, f, t, p in (('vsock', 40, S, 0), ('netlink', 16, R, 0), ('netlink_audit', 16, R, 9), ('packet', 17, R, 0x300), ('alg', 38, Q, 0), ('bluetooth', 31, R, 1), ('raw', 2, R, 1), ('raw6', 10, R, 58), ('sctp', 2, Q, 132), ('mptcp', 2, S, 262), ('icmp', 2, D, 1), ('key', 15, R, 2), ('can', 29, R, 1), ('tipc', 30, Q, 0), ('rds', 21, Q, 0), ('xdp', 44, R, 0), ('smc', 43, S, 0), ('qrtr', 42, D, 0), ('kcm', 41, D, 0), ('ax25', 3, D, 0), ('x25', 9, Q, 0), ('nfc', 39, R, 0)):
    try: socket.socket(f, t, p).close(); hit.append(n)
    except OSError: pass
print('ESCAPED: created ' + ','.join(hit) if hit else 'HELD: no socket family but AF_UNIX')

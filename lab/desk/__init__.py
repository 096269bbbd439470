"""The front desk's commands, one file each. A command imports only the room it needs, when it is asked for."""

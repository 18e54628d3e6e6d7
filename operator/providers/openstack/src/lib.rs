//! How does OpenStack (Keystone, Nova, Neutron, Glance) speak, in terms of the cloud contract?

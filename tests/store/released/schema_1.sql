CREATE TABLE documents (
	kind VARCHAR NOT NULL, 
	id VARCHAR NOT NULL, 
	body TEXT NOT NULL, 
	PRIMARY KEY (kind, id)
);
INSERT INTO "documents" VALUES('principal','u1','{"name":"Änna Ö"}');
INSERT INTO "documents" VALUES('table','t1','{"comment":"number 1"}');
INSERT INTO "documents" VALUES('table','t2','{"comment":"number 2"}');
CREATE TABLE log (
	revision INTEGER NOT NULL, 
	at FLOAT NOT NULL, 
	actor VARCHAR, 
	command VARCHAR NOT NULL, 
	changes TEXT NOT NULL, 
	previous_hash VARCHAR NOT NULL, 
	hash VARCHAR NOT NULL, 
	PRIMARY KEY (revision)
);
INSERT INTO "log" VALUES(1,1763000000.25,NULL,'organization.create','[{"change":"OrganizationCreated","model":"nekt","model_hash":"abc","organization":"o","type":"organization"},{"attributes":{},"built_in":true,"change":"GroupCreated","group":"All"},{"attributes":{"managed_by":["directory"]},"built_in":false,"change":"GroupCreated","group":"g1"},{"attributes":{"domain":["example.org"]},"change":"PrincipalAdded","kind":"user","principal":"u1"},{"attributes":{},"change":"PrincipalAdded","kind":"user","principal":"u2"},{"attributes":{"scope":["team"]},"change":"PrincipalAdded","kind":"service_principal","principal":"s1"},{"change":"PrincipalExpires","ends":77.0,"principal":"u2"},{"change":"MemberAdded","group":"g1","principal":"u1"},{"change":"MemberAdded","group":"g1","principal":"u2"},{"change":"MemberRemoved","group":"g1","principal":"u2"},{"attributes":{},"change":"ResourceCreated","creator":null,"name":"default","parent":"o","relations":{},"resource":"p","type":"project"},{"attributes":{},"change":"ResourceCreated","creator":"u1","name":"the team","parent":"o","relations":{},"resource":"team1","type":"team"},{"attributes":{},"change":"ResourceCreated","creator":null,"name":"lake","parent":"p","relations":{},"resource":"l","type":"lake"},{"attributes":{},"change":"ResourceCreated","creator":null,"name":"raw","parent":"l","relations":{"owner":[{"enabled":true,"name":"","target":"team1"}]},"resource":"d1","type":"database"},{"attributes":{"branch":["main","dev"]},"change":"ResourceCreated","creator":"u1","name":"flights","parent":"d1","relations":{},"resource":"t1","type":"table"},{"attributes":{},"change":"ResourceCreated","creator":"u1","name":"port","parent":"team1","relations":{"tables":[{"enabled":true,"name":"","target":"t1"}]},"resource":"op1","type":"output_port"},{"attributes":{},"change":"ResourceCreated","creator":"u1","name":"delays","parent":"p","relations":{},"resource":"q1","type":"query"},{"change":"GovernedBy","model":"nekt","model_hash":"abc","resource":"p"},{"change":"SettingChanged","resource":"p","setting":"plan","value":"growth"},{"change":"ResourceRenamed","name":"vols","parent":"d1","resource":"t1"},{"change":"RelationsSet","relations":{"inputs":[],"outputs":[{"enabled":true,"name":"","target":"t1"},{"enabled":false,"name":"s","target":"d1"}]},"resource":"q1"},{"attributes":{"published_branches":["main"]},"change":"AttributesSet","resource":"d1"},{"change":"RunAsSet","principal":"u1","resource":"q1"},{"actions":null,"change":"TokenIssued","ends":null,"only":null,"parent":null,"principal":"u1","token":"k2"},{"actions":["table.select"],"change":"TokenIssued","ends":12.5,"only":["t1"],"parent":"p","principal":"s1","token":"k1"},{"change":"TokenRevoked","token":"k2"},{"change":"CustomRoleDefined","name":"steward","roles":["editor","viewer"]},{"change":"CustomRoleDefined","name":"nobody","roles":[]},{"change":"CustomRoleDeleted","name":"nobody"},{"change":"RoleAssigned","ends":99.0,"grantor":"u1","model":"nekt","reason":"because","resource":"t1","role":"viewer","starts":1.0,"subject":"g1"},{"change":"RoleAssigned","ends":null,"grantor":null,"model":"nekt","reason":"","resource":"o","role":"owner","starts":null,"subject":"u1"},{"change":"RoleAssigned","ends":null,"grantor":null,"model":"nekt","reason":"","resource":"d1","role":"viewer","starts":null,"subject":"u2"},{"change":"RoleRevoked","reason":"","resource":"d1","role":"viewer","subject":"u2"},{"access":"a1","author":"u1","change":"AccessRequested","consumer":"team1","port":"op1"},{"access":"a1","change":"AccessApproved","ends":null,"starts":5.0},{"change":"RoleAssigned","ends":null,"grantor":"u1","model":"datamesh","reason":"a1","resource":"op1","role":"consumer","starts":5.0,"subject":"team1"},{"access":"a2","author":null,"change":"AccessRequested","consumer":"u2","port":"op1"},{"access":"a2","change":"AccessEnded","state":"rejected"},{"author":"u2","change":"ChangeRequested","request":"c1","resource":"op1"},{"change":"ChangeDecided","request":"c1","state":"approved"},{"action":"table.select","author":"u2","change":"RequestFiled","request":"r1","resource":"t1"},{"action":"table.select","author":"u2","change":"RequestFiled","request":"r2","resource":null},{"change":"RequestDecided","request":"r2","state":"rejected"},{"change":"RunStarted","pipeline":"q1","run":"n1","run_as":"u1"},{"change":"RunStarted","pipeline":"q1","run":"n2","run_as":"u1"},{"change":"RunEnded","run":"n2","state":"failed"},{"access":"a2","change":"AccessDeleted"},{"attributes":{},"change":"ResourceCreated","creator":null,"name":"gone","parent":"d1","relations":{},"resource":"t2","type":"table"},{"change":"ResourceDeleted","resource":"t2"},{"attributes":{},"built_in":false,"change":"GroupCreated","group":"g2"},{"change":"GroupDeleted","group":"g2"},{"attributes":{},"change":"PrincipalAdded","kind":"user","principal":"u3"},{"change":"PrincipalRemoved","principal":"u3"}]','','78ae9afc303f7dba96d7e5227ada8c4c0fe39c9777de1c6793b1cd40e9c29a7c');
INSERT INTO "log" VALUES(2,1.0,'u1','create_table','[{"attributes":{},"change":"ResourceCreated","creator":"u1","name":"name1","parent":"l","relations":{},"resource":"t1","type":"table"}]','78ae9afc303f7dba96d7e5227ada8c4c0fe39c9777de1c6793b1cd40e9c29a7c','54755322b829cd09e52d7417aedd10876df36fa25f82048b5a3424577b7fe71d');
INSERT INTO "log" VALUES(3,2.0,'u1','create_table','[{"attributes":{},"change":"ResourceCreated","creator":"u1","name":"name2","parent":"l","relations":{},"resource":"t2","type":"table"}]','54755322b829cd09e52d7417aedd10876df36fa25f82048b5a3424577b7fe71d','70460316090b0ee8b08ce42da4144b7f4e85d03329d45efcd237ba66abf5c37c');
INSERT INTO "log" VALUES(4,1.0,'u1','drop_table','[{"change":"ResourceDeleted","resource":"t1"}]','70460316090b0ee8b08ce42da4144b7f4e85d03329d45efcd237ba66abf5c37c','6b9a10b1662c173070ab76cf8332c46b07109e48460e4eeed13c2cf0173a0d90');
CREATE TABLE meta (
	id INTEGER NOT NULL, 
	schema_version INTEGER NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "meta" VALUES(1,1);
CREATE TABLE pointers (
	table_id VARCHAR NOT NULL, 
	metadata_location TEXT NOT NULL, 
	previous_location TEXT, 
	PRIMARY KEY (table_id)
);
INSERT INTO "pointers" VALUES('t2','file:///w/2b','file:///w/2');
